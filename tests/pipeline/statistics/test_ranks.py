"""Ranks: on shared clips only, with ranges that say how sure they are, and reasons where there is no rank."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pipeline.stats import draw_rows, failed, ok, row
from support.profile import examples

from codec_superb.pipeline.statistics.ranks import Ranking, place_codecs, rank_codecs
from codec_superb.pipeline.tables.rows import ClipRow, MetricValue

LADDER = {f"codec{step}": draw_rows(step, 45, quality=0.3 * step) for step in range(4)}


def places(ranking: Ranking) -> dict[str, tuple[int, int, int]]:
    """Codec to rank, best and worst."""
    return {rank.codec: (rank.rank, rank.best, rank.worst) for rank in ranking.ranks}


def test_codecs_far_apart_have_sure_ranks() -> None:
    """Four codecs with steps larger than any spread: every interval is one rank wide."""
    for ranking in rank_codecs(LADDER).values():
        assert places(ranking) == {f"codec{step}": (4 - step, 4 - step, 4 - step) for step in range(4)}
        assert ranking.clips == 15
        assert not ranking.unranked


def test_one_clip_says_nothing_about_others() -> None:
    """On a single shared clip nothing can be drawn again: each codec may have any rank, and none is called sure."""
    one = {codec: [entry for entry in rows if entry.category == "speech"][:1] for codec, rows in LADDER.items()}
    (ranking,) = rank_codecs(one).values()
    assert places(ranking) == {f"codec{step}": (4 - step, 1, 4) for step in range(4)}


def test_codecs_alike_share_their_ranges() -> None:
    """Two codecs of which each is better on every other clip can both be first, and the third cannot."""
    up, down = draw_rows(1, 45, quality=0.05), draw_rows(1, 45, quality=-0.05)
    rows = {
        "one": [pair[number % 2] for number, pair in enumerate(zip(up, down, strict=True))],
        "two": [pair[1 - number % 2] for number, pair in enumerate(zip(up, down, strict=True))],
        "far": draw_rows(3, 45, quality=-0.6),
    }
    for ranking in rank_codecs(rows).values():
        found = places(ranking)
        assert found["far"] == (3, 3, 3)
        assert {found["one"][1], found["two"][1]} == {1}
        assert {found["one"][2], found["two"][2]} == {2}


def test_equal_codecs_share_a_rank() -> None:
    """Lossless codecs have equal rows: both are first, and the range says that either may be second."""
    rows = {"flac": LADDER["codec3"], "wavpack": LADDER["codec3"], "other": LADDER["codec0"]}
    for ranking in rank_codecs(rows).values():
        assert places(ranking) == {"flac": (1, 1, 2), "wavpack": (1, 1, 2), "other": (3, 3, 3)}


def test_only_shared_clips_count() -> None:
    """A codec that failed on the hard clips is compared on the others with everybody, so that failing gains nothing."""
    hard = sorted(LADDER["codec1"], key=lambda entry: entry.metrics["pesq"].value or 0)[:15]
    names = {entry.clip for entry in hard}
    skipping = [
        failed(entry.clip, category=entry.category) if entry.clip in names else entry for entry in LADDER["codec1"]
    ]
    rankings = rank_codecs({"skipping": skipping, "full": LADDER["codec1"]})
    assert sum(ranking.clips for ranking in rankings.values()) == 30
    for ranking in rankings.values():
        assert {rank.rank for rank in ranking.ranks} == {1}


def test_a_codec_of_another_dataset_has_no_rank_and_a_reason() -> None:
    """Ranks rest on the datasets that most codecs were run on; who lacks one is named."""
    rows = {**LADDER, "stranger": draw_rows(9, 45, dataset="other")}
    for ranking in rank_codecs(rows).values():
        assert ranking.datasets == ("mini",)
        assert ranking.unranked == {"stranger": "not run on mini"}
        assert len(ranking.ranks) == 4


def test_a_codec_without_a_metric_or_without_clips_does_not_shrink_the_others() -> None:
    """PESQ undefined everywhere, or every clip failed: named, and the others keep all their clips."""
    no_pesq = [
        entry.model_copy(
            update={"metrics": {**entry.metrics, "pesq": MetricValue(status="undefined", reason="silence")}}
        )
        for entry in LADDER["codec2"]
    ]
    broken = [failed(entry.clip, category=entry.category) for entry in LADDER["codec2"]]
    rankings = rank_codecs({**LADDER, "mute": no_pesq, "broken": broken})
    assert rankings["speech"].unranked == {
        "mute": "pesq has no value on any clip of mini",
        "broken": "failed on every clip of mini",
    }
    assert rankings["speech"].clips == 15
    assert "mute" not in rankings["audio"].unranked


def test_codecs_without_a_common_clip_have_no_ranks() -> None:
    """Different halves of a dataset cannot be ranked; both codecs say so."""
    rows = LADDER["codec1"]
    rankings = rank_codecs({"left": rows[:21], "right": rows[21:]})
    for ranking in rankings.values():
        assert ranking.ranks == ()
        assert set(ranking.unranked) == {"left", "right"}
        assert "share no clip" in ranking.unranked["left"]


@examples(10)
@given(st.permutations(sorted(LADDER)), st.permutations(range(45)))
def test_order_of_codecs_and_rows_does_not_matter(names: list[str], order: list[int]) -> None:
    """Any order gives the same ranking."""
    shuffled: dict[str, list[ClipRow]] = {name: [LADDER[name][n] for n in order] for name in names}
    assert rank_codecs(shuffled) == rank_codecs(LADDER)


@pytest.mark.parametrize("category", ["speech", "audio", "music"])
def test_one_codec_is_first(category: str) -> None:
    """A ranking of one is not an error."""
    (rank,) = rank_codecs({"only": LADDER["codec0"]})[category].ranks  # type: ignore[index]  # a category by name
    assert (rank.rank, rank.best, rank.worst) == (1, 1, 1)
    assert 0 < rank.score < 1


MANY = 10**7
"""Clusters, so many that the levels are 2.5 %."""
FIRST, SECOND = [0.9, 0.8], [0.7, 0.8]
"""Scores of two codecs in a replicate: in the first the first codec is ahead, in the second it is not."""


@pytest.mark.parametrize(("turned", "best", "worst"), [(4, 2, 1), (5, 1, 2)])
def test_the_range_of_a_rank_by_hand(turned: int, best: int, worst: int) -> None:
    """Of 200 replicates the fifth from either end is the last within 95 %: four turned round do not count, five do."""
    draws = np.array([SECOND] * turned + [FIRST] * (200 - turned))
    ranks = place_codecs(("one", "two"), np.array(FIRST), draws, MANY)
    assert [(rank.codec, rank.rank, rank.best, rank.worst) for rank in ranks] == [
        ("one", 1, 1, worst),
        ("two", 2, best, 2),
    ]
    unsure = place_codecs(("one", "two"), np.array(FIRST), draws, 1)
    assert {(rank.best, rank.worst) for rank in unsure} == {(1, 2)}


def test_replicates_without_a_score_say_nothing() -> None:
    """They are left out; where all of them are, the range of a rank is the rank."""
    nothing = np.full((10, 2), np.nan)
    for draws in (nothing, np.vstack([nothing, [FIRST] * 5])):
        ranks = place_codecs(("one", "two"), np.array(FIRST), draws, MANY)
        assert [(rank.rank, rank.best, rank.worst) for rank in ranks] == [(1, 1, 1), (2, 2, 2)]


def datasets_of(runs: dict[str, str]) -> tuple[str, ...]:
    """Rank codecs, each run on the datasets whose letters are given; return those that the ranks rest on."""
    rows = {codec: [r for name in names for r in draw_rows(1, 6, dataset=name)] for codec, names in runs.items()}
    return rank_codecs(rows, replicates=10)["speech"].datasets


def test_the_combination_that_most_codecs_were_run_on() -> None:
    """The most codecs, then the most datasets, then the first by name, whatever the order of the codecs."""
    assert datasets_of({"a": "yz", "b": "x", "c": "x"}) == ("x",)
    assert datasets_of({"a": "x", "b": "yz"}) == datasets_of({"a": "zy", "b": "x"}) == ("y", "z")
    assert datasets_of({"a": "y", "b": "x"}) == ("x",)


def test_two_clips_are_a_spread() -> None:
    """From two shared clips on a range is drawn and no longer any rank."""
    two = {codec: [entry for entry in rows if entry.category == "speech"][:2] for codec, rows in LADDER.items()}
    (ranking,) = rank_codecs(two).values()
    assert ranking.clips == 2
    assert places(ranking)["codec3"] == (1, 1, 1)


def test_shared_clips_without_a_shared_value_rank_nobody() -> None:
    """Both codecs have both clips, and PESQ on one each: no clip is counted as the ground of a rank."""
    full = {key: ok(0.5) for key in ("stft", "mel", "stoi")}
    rows = {
        codec: [row(clip, metrics=full | ({"pesq": ok(2.0)} if clip == codec else {})) for clip in "ab"]
        for codec in "ab"
    }
    ranking = rank_codecs(rows)["speech"]
    assert (ranking.ranks, ranking.clips, set(ranking.unranked)) == ((), 0, {"a", "b"})
