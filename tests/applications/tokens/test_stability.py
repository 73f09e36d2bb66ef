"""Matches of tokens under disturbances, with codecs whose answers are known."""

from __future__ import annotations

import numpy as np
import pytest
from support.audio import speech_like
from support.codecs.checkpoints import OF_TOKENS, opened
from support.codecs.frame_codecs import COARSE, FINE, FRAME, Levels
from support.codecs.token_figures import check_disturbed

from codec_superb.applications.interface import Item, ScoringInput
from codec_superb.applications.probe import PARTS
from codec_superb.applications.table import PROBES
from codec_superb.applications.tokens.disturbances import disturbed
from codec_superb.applications.tokens.disturbed_codec import Stability, from_text, stability, to_text
from codec_superb.applications.tokens.matches import ALL, chances, matches
from codec_superb.applications.tokens.stability import score
from codec_superb.applications.tokens.table import CODINGS, DISTURBANCES

RATE = 16_000


def share(found: Stability, key: str, book: str = ALL) -> float:
    """Return the share of equal tokens under a disturbance."""
    total, same = found.counts[f"match:{key}:{book}"]
    return same / total


@pytest.fixture(scope="module")
def known() -> Stability:
    """Return what the codec without memory says of a second of sound."""
    return stability(Levels(), "c", speech_like(1.0, RATE, seed=3), RATE, "speech")


def test_a_codec_that_is_idempotent_keeps_all_tokens_when_coded_again(known: Stability) -> None:
    """However often: each coding is the first and the one before, and the first codebook needs no edit."""
    for n in CODINGS:
        assert share(known, f"recode_{n}") == share(known, f"step_{n}") == 1
        assert known.counts[f"edits:recode_{n}"] == (100, 0)
    drift = {name: value for name, (_, value) in known.counts.items() if name.startswith("drift:stft:")}
    assert len(drift) == len(CODINGS) + 1
    assert len({round(value, 5) for value in drift.values()}) == 1


def test_a_codec_without_memory_keeps_all_tokens_when_shifted_by_a_frame(known: Stability) -> None:
    """By any other shift it does not, and one that is louder has other levels."""
    assert share(known, "shift_frame") == 1
    assert known.counts["match:shift_frame:all"][0] == 2 * 100
    for key in ("shift_half", "shift_quarter", "noise_20", "louder", "quieter"):
        assert share(known, key) < 1, key
    assert share(known, "noise_20") <= share(known, "noise_30") <= share(known, "noise_40")


def test_every_disturbance_of_the_table_is_counted_for_every_codebook(known: Stability) -> None:
    """As matches by codebook, which add up to those of all, and as edits; steps over all codebooks."""
    for key in (key for key in DISTURBANCES if not key.startswith("step_")):
        whole = known.counts[f"match:{key}:all"]
        books = [known.counts[f"match:{key}:{book}"] for book in (1, 2)]
        assert whole == tuple(map(sum, zip(*books, strict=True)))
        assert f"edits:{key}" in known.counts
    assert {name.split(":")[1] for name in known.counts if not name.startswith("drift:")} == set(DISTURBANCES)


def test_independent_tokens_match_by_chance() -> None:
    """Uniform tokens of K entries match 1/K, which is what is stated as chance; codebooks may differ in size."""
    rng = np.random.default_rng(0)
    draw = lambda: np.stack([rng.integers(0, size, 8_000) for size in (COARSE, FINE)])  # noqa: E731
    one, two = draw(), draw()
    found = matches("x", one, two)
    by_chance = chances({"c": one})["c"]
    for book, size in ((1, COARSE), (2, FINE)):
        assert found[f"match:x:{book}"][1] / 8_000 == pytest.approx(1 / size, rel=0.1)
        assert by_chance[f"chance:{book}"][1] / 8_000 == pytest.approx(1 / size, rel=0.01)


def test_sequences_of_other_lengths_are_compared_by_edits() -> None:
    """A token that is missing costs one edit, and matches in place end there."""
    found = matches("x", np.array([[1, 2, 3, 4, 5, 6]]), np.array([[1, 2, 4, 5, 6]]))
    assert found["edits:x"] == (6, 1)
    assert found["match:x:1"] == (5, 2)
    assert matches("x", np.array([[1, 2]]), np.array([[9]]), later=1)["match:x:all"] == (0, 0)


@pytest.mark.parametrize("samples", [1, FRAME - 1, FRAME + 1])
def test_clips_shorter_than_a_frame_have_an_answer(samples: int) -> None:
    """One frame, padded; noise has no level beside silence and is left out."""
    found = stability(Levels(), "c", np.full(samples, 0.5, np.float32), RATE, "audio")
    assert share(found, "recode_25") == 1
    silent = {of.key for of in disturbed("c", np.zeros(samples, np.float32), RATE, FRAME)}
    assert silent & {"noise_20", "noise_30", "noise_40"} == set()


def test_an_answer_survives_as_text(known: Stability) -> None:
    """Tokens and counts are the same after JSON, to the last bit."""
    back = from_text(to_text(known))
    np.testing.assert_array_equal(back.tokens, known.tokens)
    assert back.counts == known.counts


def test_the_scorer_keeps_counts_of_each_clip(known: Stability) -> None:
    """With chance over all clips; a clip without an answer has failed with its reason."""
    items = [Item(clip, "speech") for clip in ("a", "b", "c")]
    question = ScoringInput("d", items, {"a": to_text(known), "b": to_text(known)}, {}, {"c": "no resynthesis"})
    found = score(PROBES["tokens_stability"], question)
    assert {clip: of.status for clip, of in found.outcomes.items()} == {"a": "ok", "b": "ok", "c": "failed"}
    assert found.outcomes["c"].reason == "no resynthesis"
    assert found.outcomes["a"].shared["counts"] == sum(pair.left == "a" for pair in found.pairs)
    for pair in found.pairs:
        if pair.right.startswith(PARTS):
            assert 0 <= pair.resynthesis <= pair.reference


@pytest.mark.sample(2)
@pytest.mark.parametrize(("name", "family"), OF_TOKENS)
def test_every_codec_of_tokens_has_an_answer_with_random_weights(name: str, family: str) -> None:
    """Whatever the codebooks, each disturbance is counted, and the tokens are those of the codec."""
    check_disturbed(opened(name, family))
