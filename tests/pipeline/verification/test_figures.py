"""Figures that depend on an order: scores that move by little, each to the other side, are found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from support.pipeline.stats import row

from codec_superb.applications.table import PROBES
from codec_superb.pipeline.tables.rows import ClipRow, PairRow, ProbeValue
from codec_superb.pipeline.verification.compare import drifts
from codec_superb.pipeline.verification.figures import compare_figures
from codec_superb.pipeline.verification.pairs import compare_pairs

CLIPS = 24


def clips(probe: str, sides: Mapping[int, Mapping[str, float]] | None = None) -> list[ClipRow]:
    """Make clips with a probe, whose numbers on the resynthesis are ``sides``."""
    shared = {field.name: 1.0 for field in PROBES[probe].shared}
    usual = {field.name: max(field.minimum, 1.0) for field in PROBES[probe].sided}
    values = [
        ProbeValue(status="ok", shared=shared, reference=usual, resynthesis=usual | (sides or {}).get(at, {}))
        for at in range(CLIPS)
    ]
    return [row(f"c{at:02}", probes={probe: value}) for at, value in enumerate(values)]


def trials(scores: Sequence[float]) -> list[PairRow]:
    """Make trials of each two clips, of one speaker where both numbers are even or both odd."""
    places = [(one, other) for one in range(CLIPS) for other in range(one + 1, CLIPS)][: len(scores)]
    return [
        PairRow(
            dataset="d", probe="asv", left=f"c{one:02}", right=f"c{other:02}", target=(other - one) % 2 == 0,
            reference=0.9 if (other - one) % 2 == 0 else 0.3, resynthesis=score, enrol_clean=score,
        )
        for (one, other), score in zip(places, scores, strict=True)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def scores() -> np.ndarray:
    """Cosines that do not tell the speakers of some trials apart: an equal error rate of 15 %."""
    same = np.array([pair.target for pair in trials([0.0] * 130)])
    return np.where(same, 0.72, 0.62) + np.random.default_rng(1).normal(0, 0.05, 130)


class TestTrials:
    """Cosines of codecs that round."""

    @pytest.mark.parametrize("seed", range(5))
    def test_what_rounding_did_is_admitted(self, scores: np.ndarray, seed: int) -> None:
        """A root mean square of 0.007, the largest that was measured."""
        moved = scores + np.random.default_rng(seed).normal(0, 0.007, scores.size)
        there, here = trials(list(moved)), trials(list(scores))
        changed = {"asv": {of.left for of in here} | {of.right for of in here}}
        pairs = compare_pairs(there, here, changed)
        assert (pairs.differences, drifts(pairs.changes)) == ((), ())
        assert compare_figures(PROBES["asv"], (clips("asv"), there), (clips("asv"), here), alike=False) == []

    def test_small_steps_across_a_threshold_are_found(self, scores: np.ndarray) -> None:
        """Of 130 trials those that were wrong, each by a little: no limit of a single score or a mean finds them."""
        here = trials(list(scores))
        same = np.array([of.target for of in here])
        step = 0.035
        near = np.abs(scores - 0.67) < step
        forged = np.where(near, np.where(same, 0.672, 0.668), scores)
        assert np.abs(forged - scores).max() <= 0.04
        there = trials(list(forged))
        found = compare_figures(PROBES["asv"], (clips("asv"), there), (clips("asv"), here), alike=False)
        assert [of.quantity for of in found][:1] == ["asv_eer_pct, resynthesis"]
        assert found[0].allowed == pytest.approx(100 * 2 / 63)

    def test_the_original_moves_for_no_codec(self, scores: np.ndarray) -> None:
        """What a model finds in originals has the limits of equal sound."""
        here = trials(list(scores))
        first = next(at for at, of in enumerate(here) if of.target)
        there = [of.model_copy(update={"reference": 0.25}) if at == first else of for at, of in enumerate(here)]
        assert compare_figures(PROBES["asv"], (clips("asv"), there), (clips("asv"), here), alike=False) == []
        there = [of.model_copy(update={"reference": 0.3 if of.target else 0.35}) for of in here]
        found = compare_figures(PROBES["asv"], (clips("asv"), there), (clips("asv"), here), alike=False)
        assert [of.quantity for of in found] == ["asv_eer_pct, reference", "asv_mindcf, reference"]


def ranks(found: Sequence[float]) -> list[PairRow]:
    """Make the ranks of clips within classes of three."""
    return [
        PairRow(
            dataset="d", probe="aec", left=f"c{at:02}", right=f"class {at // 3}", target=True, reference=1.0,
            resynthesis=rank,
        )
        for at, rank in enumerate(found)
    ]  # fmt: skip


class TestRanks:
    """Ranks of clips within classes."""

    honest = tuple(float(2 + (7 * at) % 11) for at in range(CLIPS))

    @pytest.mark.parametrize(
        ("moved", "differs"),
        [
            ({}, False),
            ({2: 20.0, 5: 13.0}, False),  # far behind, a clip moves by ten places and more
            ({0: 1.0, 3: 1.0, 6: 1.0, 9: 1.0, 12: 1.0, 15: 1.0}, True),
        ],
    )
    def test_average_precision_follows_from_the_first_places(self, moved: Mapping[int, float], differs: bool) -> None:
        """Rounding moves clips by a quarter of all places far behind, which is nothing to the figure."""
        here, there = ranks(self.honest), ranks([moved.get(at, rank) for at, rank in enumerate(self.honest)])
        found = compare_figures(PROBES["aec"], (clips("aec"), there), (clips("aec"), here), alike=False)
        assert [of.quantity for of in found] == (["aec_map_pct, resynthesis"] if differs else [])
        pairs = compare_pairs(there, here, {"aec": {"c00"}})
        assert pairs.differences == ()

    def test_ranks_of_the_same_sound_are_equal(self) -> None:
        """A place is all that a rank of few clips can be off."""
        here, there = ranks(self.honest), ranks([rank - (at == 4) for at, rank in enumerate(self.honest)])
        (one,) = compare_pairs(there, here, {}).differences
        assert one.quantity == "aec.pairs.resynthesis, targets"


def test_classes_that_a_head_names_are_held_together() -> None:
    """Which class it names is compared with no other; the figures of all names are."""
    probe = PROBES["mseb_classification_speaker"]
    here = clips(probe.key, {at: {"predicted": 2.0, "rank": 2.0} for at in range(0, CLIPS, 2)})
    there = clips(probe.key)
    found = compare_figures(probe, (there, []), (here, []), alike=False)
    assert {"mseb_classification_speaker_weighted_f1, resynthesis"} <= {of.quantity for of in found}
    few = clips(probe.key, {0: {"predicted": 2.0, "rank": 2.0}})
    assert compare_figures(probe, (there, []), (few, []), alike=False) == []


def test_what_counts_clips_beyond_a_threshold_is_held() -> None:
    """Word errors of ten clips gone and put onto two others: the mean stays, the sentence error rate falls by half."""
    probe = PROBES["mseb_transcription"]
    honest = {at: {"word_errors": 2.0 if at < 12 else 0.0} for at in range(CLIPS)}
    forged = honest | {at: {"word_errors": 0.0} for at in range(10)} | {at: {"word_errors": 8.0} for at in (10, 11)}
    here, there = clips(probe.key, honest), clips(probe.key, forged)
    (one,) = compare_figures(probe, (there, []), (here, []), alike=False)
    assert one.quantity == "mseb_transcription_ser_pct, resynthesis"
    assert one.allowed == pytest.approx(100 * (0.02 + 2 * 0.5 / CLIPS**0.5))
    few = clips(probe.key, honest | {at: {"word_errors": 0.0} for at in range(4)})
    assert compare_figures(probe, (few, []), (here, []), alike=False) == []


def test_means_and_error_rates_are_held_by_their_own_limits() -> None:
    """A figure of a field, or per word, is no order; nor is one of clips that failed on one side."""
    for key in ("sim", "asr", "dnsmos"):
        there = clips(key)
        assert compare_figures(PROBES[key], (there, []), (there, []), alike=False) == []
    assert compare_figures(PROBES["aec"], ([], []), (clips("aec"), ranks(TestRanks.honest)), alike=True) == []
