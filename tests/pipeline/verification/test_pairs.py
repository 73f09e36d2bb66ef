"""Scores of pairs of clips: forged ones are found."""

from __future__ import annotations

import pytest

from codec_superb.pipeline.tables.rows import CountsRow, PairRow, counts_row
from codec_superb.pipeline.verification.compare import drifts
from codec_superb.pipeline.verification.pairs import compare_pairs


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
        found = compare_pairs(self.trials(by=0.035), honest, {"asv": {of.right for of in honest}})
        assert found.differences == ()
        assert [of.quantity for of in drifts(found.changes)] == [
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
        for changed, found in (({"a7"}, 1), ({"b7"}, 0)):
            clean = [*honest[:7], honest[7].model_copy(update={"enrol_clean": 0.635}), *honest[8:]]
            assert len(compare_pairs(clean, honest, {"asv": changed}).differences) == found

    @pytest.mark.parametrize("same", [True, False])
    def test_forged_counts_differ(self, same: bool) -> None:
        """Of a codec's tokens a few that a disturbance leaves in a codebook count, beside thousands of bits."""
        names = ("bits:coded:all", "match:recode_2:1", "use:1")

        def counts(*, kept: float, bits: float = 7000.0) -> list[CountsRow]:
            return [
                counts_row("mini", "tokens_rate", f"c{at}", names, (9000.0, 250.0, 2.0), (bits + at, kept, 1.0))
                for at in range(20)
            ]

        honest = counts(kept=120.0)
        changed = {} if same else {"tokens_rate": {"c0"}}  # the model of one clip learns from the others
        assert compare_pairs(honest, honest, changed).differences == ()
        for raised_by, name in ((counts(kept=200.0), names[1]), (counts(kept=120.0, bits=4000.0), names[0])):
            (one,) = compare_pairs(raised_by, honest, changed).differences
            assert one.quantity == f"tokens_rate.pairs.resynthesis, {name}"
        little = compare_pairs(counts(kept=130.0), honest, changed)
        assert [of.quantity for of in (*little.differences, *drifts(little.changes))] == [
            f"tokens_rate.pairs.resynthesis, {names[1]}"
        ]

    def test_counts_of_the_same_sound_are_not_all_a_little_lower(self) -> None:
        """Clips of a few tokens beside one of very many: the mean is held to what their own sizes allow."""

        def counts(share: float) -> list[CountsRow]:
            sizes = [*[100.0] * 70, 5000.0, 5000.0]
            return [
                counts_row("mini", "tokens_rate", f"c{at}", ("bits:coded:all",), (size,), (size * share,))
                for at, size in enumerate(sizes)
            ]

        for share, found in ((1.0, 0), (0.995, 0), (0.985, 1)):
            compared = compare_pairs(counts(share), counts(1.0), {})
            assert len([*compared.differences, *drifts(compared.changes)]) == found

    def test_other_trials_differ(self) -> None:
        """Trials that were left out, or that nobody made here, are told by their number."""
        honest = self.trials()
        for there, here in ((honest[1:], honest), ([], honest), (honest, [])):
            (one,) = compare_pairs(there, here, {}).differences
            assert (one.quantity, one.submitted, one.found) == ("asv.pairs", len(there), len(here))
