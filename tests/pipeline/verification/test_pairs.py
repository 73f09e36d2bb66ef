"""Scores of pairs of clips: forged ones are found."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pytest
from numpy.random import default_rng

from codec_superb.pipeline.tables.rows import CountsRow, PairRow, counts_row
from codec_superb.pipeline.verification.compare import drifts
from codec_superb.pipeline.verification.pairs import compare_pairs


def found(there: Sequence[CountsRow], here: Sequence[CountsRow], changed: Mapping[str, Collection[str]]) -> list[str]:
    """Name what differs, in single clips or in the mean."""
    compared = compare_pairs(there, here, changed)
    return [of.quantity for of in (*compared.differences, *drifts(compared.changes))]


class TestPairs:
    """Scores of trials are compared: the figures of speaker verification follow from nothing else."""

    @staticmethod
    def trials(number: int = 20, *, by: float = 0.0) -> list[PairRow]:
        """Make trials whose targets are raised and whose others are lowered."""
        return [
            PairRow(
                dataset="mini", probe="asv", left=f"a{at}", right=f"b{at}", target=at % 2 == 0, reference=0.8,
                resynthesis=0.5 + at / 100 + (by if at % 2 == 0 else -by), enrol_clean=0.6,
            )
            for at in range(number)
        ]  # fmt: skip

    def test_forged_trials_differ(self) -> None:
        """On the same sound a single one, on other sound the means of targets and of others; honest ones agree."""
        honest = self.trials()
        assert compare_pairs(honest, honest, {}).differences == ()
        assert drifts(compare_pairs(honest, honest, {}).changes) == ()
        (one,) = compare_pairs([honest[0].model_copy(update={"resynthesis": 0.9}), *honest[1:]], honest, {})[0]
        assert one.quantity == "asv.pairs.resynthesis, targets"
        of_others = compare_pairs(self.trials(by=0.035), honest, {"asv": {of.right for of in honest}})
        assert of_others.differences == ()
        assert [of.quantity for of in drifts(of_others.changes)] == [
            "asv.pairs.resynthesis, others", "asv.pairs.resynthesis, targets",
        ]  # fmt: skip

    def test_a_foreign_clip_loosens_its_own_trials(self) -> None:
        """A cosine of two clips that sound the same moves by a hundredth at most, whatever others do."""
        honest = self.trials()
        for changed in ({}, {"asv": {"a7"}}):
            assert compare_pairs(self.trials(by=0.001), honest, changed).differences == ()
            assert drifts(compare_pairs(self.trials(by=0.001), honest, changed).changes) == ()
            few = compare_pairs([*self.trials(by=0.011)[:2], *honest[2:]], honest, changed).differences
            assert [of.quantity for of in few] == ["asv.pairs.resynthesis, targets", "asv.pairs.resynthesis, others"]
            assert drifts(compare_pairs(self.trials(by=0.004), honest, changed).changes) != ()
        mine = [*honest[:7], honest[7].model_copy(update={"resynthesis": 0.6}), *honest[8:]]
        assert compare_pairs(mine, honest, {"asv": {"a7"}}).differences == ()
        # a clip that is the test alone, beside the original of the other
        for changed, differing in (({"a7"}, 1), ({"b7"}, 0)):
            clean = [*honest[:7], honest[7].model_copy(update={"enrol_clean": 0.635}), *honest[8:]]
            assert len(compare_pairs(clean, honest, {"asv": changed}).differences) == differing

    @pytest.mark.parametrize("same", [True, False])
    def test_forged_counts_differ(self, same: bool) -> None:
        """Of a codec's tokens a few that a disturbance leaves in a codebook count, beside thousands of bits."""
        names = ("bits:coded:all", "match:recode_2:1", "use:1")

        def counts(*, kept: float, bits: float = 7000.0, used: float = 1.0, of: float = 250.0) -> list[CountsRow]:
            return [
                counts_row("mini", "tokens_rate", f"c{at}", names, (9000.0, of, 2.0), (bits + at, kept, used))
                for at in range(20)
            ]

        honest = counts(kept=120.0)
        changed = {} if same else {"tokens_rate": {"c0"}}  # the model of one clip learns from the others
        assert found(honest, honest, changed) == []
        for forged, name in (
            (counts(kept=200.0), names[1]), (counts(kept=130.0), names[1]), (counts(kept=120.0, bits=4000.0), names[0]),
            (counts(kept=120.0, bits=6850.0), names[0]), (counts(kept=120.0, used=2.0), names[2]),
        ):  # fmt: skip
            assert found(forged, honest, changed) == [f"tokens_rate.pairs.resynthesis, {name}"]
        # fewer tokens of which as many are kept would raise the share
        assert found(counts(kept=120.0, of=249.0), honest, changed) == [f"tokens_rate.pairs.reference, {names[1]}"]

    def test_counts_of_other_sound_are_shares_of_what_is_counted(self) -> None:
        """As Lyra's tokens did with half an LSB at the encoder: up to half of those that a disturbance leaves."""
        names, draw = ("match:recode_25:21", "drift:si_sdr:25", "use:21", "bits:coded:21"), default_rng(3)
        totals, most = np.array((190.0, 1.0, 1.0, 760.0)), np.array((8.0, 2.0, 0.03, 6.0))

        def counts(kept: float, drift: float, used: float, bits: float) -> list[CountsRow]:
            return [
                counts_row("mini", "tokens_rate", f"c{at}", names, totals, draw.normal((kept, drift, used, bits), most))
                for at in range(75)
            ]

        changed = {"tokens_rate": {f"c{at}" for at in range(75)}}
        honest = counts(15.0, -14.0, 0.2, 690.0)
        for _ in range(20):
            assert found(counts(15.0, -14.0, 0.2, 690.0), honest, changed) == []
        for place, value in enumerate((24.0, -9.0, 0.5, 676.0)):
            forged = [*(15.0, -14.0, 0.2, 690.0)[:place], value, *(15.0, -14.0, 0.2, 690.0)[place + 1 :]]
            assert names[place] in found(counts(*forged), honest, changed)[0]

    def test_counts_of_the_same_sound_are_not_all_a_little_lower(self) -> None:
        """Clips of a few tokens beside one of very many: the mean is held to what their own sizes allow."""

        def counts(share: float) -> list[CountsRow]:
            sizes = [*[100.0] * 70, 5000.0, 5000.0]
            return [
                counts_row("mini", "tokens_rate", f"c{at}", ("bits:coded:all",), (size,), (size * share,))
                for at, size in enumerate(sizes)
            ]

        for share, differing in ((1.0, 0), (0.995, 0), (0.985, 1)):
            assert len(found(counts(share), counts(1.0), {})) == differing

    def test_other_trials_differ(self) -> None:
        """Trials that were left out, or that nobody made here, are told by their number."""
        honest = self.trials()
        for there, here in ((honest[1:], honest), ([], honest), (honest, [])):
            (one,) = compare_pairs(there, here, {}).differences
            assert (one.quantity, one.submitted, one.found) == ("asv.pairs", len(there), len(here))
