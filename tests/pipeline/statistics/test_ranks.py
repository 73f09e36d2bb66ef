"""Ranks: on shared clips only, with ranges that say how sure they are, and reasons where there is no rank."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support_profile import examples
from support_stats import draw_rows, failed

from codec_superb.pipeline.statistics.ranks import Ranking, rank_codecs
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
