"""Figures of applications over clips: by hand on few clips, paired, and the same whatever the order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.pipeline.probed import Probed, draw_probes, drawn_figures
from support.pipeline.stats import draw_rows, failed, row
from support.profile import amount

from codec_superb.applications.results import ApplicationAggregate
from codec_superb.applications.table import PROBES
from codec_superb.applications.ultra.protocol import DATASETS
from codec_superb.pipeline.aggregates.applications import aggregate_applications
from codec_superb.pipeline.aggregates.evidence import paired_evidence_of
from codec_superb.pipeline.aggregates.metrics import aggregate
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.statistics.jackknife import Jackknife, interval, means
from codec_superb.pipeline.tables.rows import ClipRow, PairRow, ProbeValue


def similar(clip: str, resynthesis: float, reference: float = 1.0, **fields: object) -> ClipRow:
    """Make a clip with a speaker similarity."""
    sides = {"reference": {"similarity": reference}, "resynthesis": {"similarity": resynthesis}}
    return row(clip, probes={"sim": ProbeValue(status="ok", **sides)}, **fields)


def verified(clip: str, trials: int = 1) -> ClipRow:
    """Make a clip that takes part in trials."""
    return row(clip, probes={"asv": ProbeValue(status="ok", shared={"trials": float(trials)})})


def heard(clip: str, reference: int, resynthesis: int, *, words: float = 0, characters: float = 0) -> ClipRow:
    """Make a clip with a transcript of so many words or characters, and so many of them taken for others."""
    sides = {
        side: {"substitutions": float(errors), "deletions": 0.0, "insertions": 0.0}
        for side, errors in (("reference", reference), ("resynthesis", resynthesis))
    }
    shared = {"words": words, "characters": characters}
    return row(clip, probes={"asr": ProbeValue(status="ok", shared=shared, **sides)})


def trial(left: str, right: str, *, target: bool, reference: float, resynthesis: float) -> PairRow:
    """Make a trial on the dataset of :func:`row`."""
    return PairRow(
        dataset="mini", probe="asv", left=left, right=right, target=target, reference=reference, resynthesis=resynthesis
    )


@cache
def drawn_whole() -> tuple[Probed, dict[str, ApplicationAggregate]]:
    """Draw clips of every probe, and their figures."""
    probed = draw_probes(draw_rows(1, 45))
    return probed, figures(probed.rows, probed.pairs)


def figures(rows: Sequence[ClipRow], pairs: Sequence[PairRow] = ()) -> dict[str, ApplicationAggregate]:
    """Aggregate one dataset, by figure."""
    found = aggregate_applications(rows, pairs)
    return {entry.figure: entry for entry in found}


class TestByHand:
    """Numbers that can be checked with a pencil."""

    def test_a_mean_on_both_sides_and_its_loss(self) -> None:
        """Similarities 0.9, 0.7 and 0.5 against 1: 70 %, which is 30 lost; clips without a number are counted."""
        rows = [
            *(similar(f"c{value}", value) for value in (0.9, 0.7, 0.5)),
            row("unlabelled", probes={"sim": ProbeValue(status="left_out", reason="no")}),
            row("crashed", probes={"sim": ProbeValue(status="failed", reason="no")}),
            failed("codec failed, and nobody wrote an entry"),
            row("a bark", category="audio"),
        ]
        sim = figures(rows)["sim_pct"]
        assert (sim.probe, sim.dataset, sim.n, sim.left_out, sim.failed, sim.pairs) == ("sim", "mini", 3, 1, 2, 0)
        assert sim.totals == {}
        assert sim.reference.value == 100.0
        assert sim.resynthesis.value == pytest.approx(70.0)
        assert sim.loss.value == pytest.approx(30.0)
        assert sim.resynthesis.low is not None
        assert sim.resynthesis.high is not None
        assert -100.0 < sim.resynthesis.low < 70.0 < sim.resynthesis.high <= 100.0
        assert sim.reference.low == sim.reference.high == 100.0

    def test_what_grows_where_the_codec_lost_is_a_positive_loss_as_well(self) -> None:
        """A distance of 3 on the resynthesis and 0 on the original is a loss of 3, not of minus 3."""
        sides = {"reference": {"distance": 0.0}, "resynthesis": {"distance": 3.0}}
        warpq = figures([row(name, probes={"warpq": ProbeValue(status="ok", **sides)}) for name in "ab"])["warpq"]
        assert (warpq.reference.value, warpq.resynthesis.value, warpq.loss.value) == (0.0, 3.0, 3.0)

    def test_errors_are_counted_over_all_words_and_characters_apart(self) -> None:
        """2 + 4 errors in 20 words and 3 in 10 characters: 30 % each, with the sums of the clips in that unit."""
        rows = [
            heard("one", 0, 2, words=10), heard("two", 1, 4, words=10), heard("three", 0, 3, characters=10)
        ]  # fmt: skip
        found = figures(rows)
        wer, cer = found["asr_wer_pct"], found["asr_cer_pct"]
        assert (wer.n, wer.resynthesis.value, wer.reference.value, wer.loss.value) == (2, 30.0, 5.0, 25.0)
        assert (cer.n, cer.resynthesis.value, cer.reference.value, cer.loss.value) == (1, 30.0, 0.0, 30.0)
        assert (wer.totals["words"], wer.totals["reference.substitutions"]) == (20.0, 1.0)
        assert wer.totals["resynthesis.substitutions"] == 6.0
        assert (cer.totals["characters"], cer.totals["resynthesis.substitutions"]) == (10.0, 3.0)
        assert not {"characters"} & wer.totals.keys()
        assert cer.loss.low is None  # one clip says nothing about others

    def test_ranks_give_an_average_precision_on_each_side(self) -> None:
        """Two clips of a class at ranks 1 and 2 are 100 %; at 1 and 4, and another class at 2, (75 + 50) / 2."""
        entry = ProbeValue(
            status="ok", shared={"labels": 1.0}, reference={"correct": 1.0}, resynthesis={"correct": 0.0}
        )  # fmt: skip
        rows = [row(name, category="audio", probes={"aec": entry}) for name in "abcd"]
        ranks = [("a", "dog", 1, 1), ("b", "dog", 2, 4), ("c", "rain", 1, 2)]
        pairs = [
            PairRow(dataset="mini", probe="aec", left=clip, right=name, target=True, reference=one, resynthesis=two)
            for clip, name, one, two in ranks
        ]
        found = figures(rows, pairs)
        assert found["aec_map_pct"].pairs == 3
        assert found["aec_map_pct"].reference.value == 100.0
        assert found["aec_map_pct"].resynthesis.value == pytest.approx(62.5)
        assert found["aec_accuracy_pct"].pairs == 0
        assert found["aec_accuracy_pct"].loss.value == 100.0

    def test_trials_give_an_equal_error_rate_on_each_side(self) -> None:
        """Scores that separate are 0 %; the worked example of the definition, targets and others overlapping, 33.3."""
        rows = [verified(name) for name in "abcdef"]
        scores = [(True, 0.9, 0.4), (True, 0.9, 0.7), (True, 0.9, 0.9), (False, 0.1, 0.1), (False, 0.1, 0.5)]
        places = [("a", "b"), ("c", "d"), ("e", "f"), ("a", "c"), ("b", "e")]
        pairs = [
            trial(*place, target=target, reference=reference, resynthesis=resynthesis)
            for place, (target, reference, resynthesis) in zip(places, scores, strict=True)
        ]
        eer = figures(rows, pairs)["asv_eer_pct"]
        assert (eer.n, eer.pairs) == (6, 5)
        assert eer.reference.value == 0.0
        assert eer.resynthesis.value == eer.loss.value == pytest.approx(100 / 3)

    def test_one_clip_has_a_value_and_no_interval(self) -> None:
        """Nothing can be said about other clips from one."""
        sim = figures([similar("only", 0.5)])["sim_pct"]
        assert sim.resynthesis.model_dump() == {"value": 50.0, "low": None, "high": None}
        assert (sim.loss.value, sim.loss.low) == (50.0, None)

    def test_a_codec_that_failed_on_every_clip_is_shown_without_a_value(self) -> None:
        """A failure is counted, and neither scored nor dropped."""
        rows = [failed(name).model_copy(update={"probes": {"sim": ProbeValue(status="failed")}}) for name in "abc"]
        sim = figures(rows)["sim_pct"]
        assert (sim.n, sim.failed) == (0, 3)
        assert sim.resynthesis.value is sim.reference.value is sim.loss.value is None

    def test_a_figure_without_a_value_on_either_side_is_absent(self) -> None:
        """No trial of two speakers: no error rate exists, and none is shown."""
        pairs = [trial("a", "b", target=True, reference=0.5, resynthesis=0.4)]
        assert figures([verified("a"), verified("b")], pairs) == {}

    def test_a_dataset_that_was_not_probed_has_no_figures(self) -> None:
        """Nor has one of a category that the probe does not look at."""
        assert aggregate(draw_rows(1, 12), metrics=()).applications == ()
        assert figures([row("a"), row("b", category="audio")]) == {}


class TestDraws:
    """Intervals of the three numbers, from the same draws."""

    def test_an_equal_loss_on_every_clip_has_no_width_however_wide_the_sides(self) -> None:
        """Paired: what both sides have in common cancels in each draw."""
        values = np.linspace(-0.5, 1.0, 12)
        rows = [similar(f"c{n:02}", float(value) - 0.25, reference=float(value)) for n, value in enumerate(values)]
        sim = figures(rows)["sim_pct"]
        assert sim.reference.low is not None
        assert sim.reference.high is not None
        assert sim.reference.high - sim.reference.low > 20
        assert sim.loss.low == pytest.approx(25.0)
        assert sim.loss.high == pytest.approx(25.0)

    def test_a_mean_has_the_interval_that_a_metric_of_the_same_numbers_would_have(self) -> None:
        """The same clusters and the same scale, so figures and metrics can stand in one table."""
        values = np.random.default_rng(3).uniform(0.2, 0.9, 30)
        found = figures([similar(f"c{n:02}", float(value)) for n, value in enumerate(values)])["sim_pct"].resynthesis
        mean = means(100 * values[:, None], np.arange(30), 100 * values.mean(keepdims=True)).column(0)
        expected = interval(mean, -100, 100)
        assert (found.low, found.high) == pytest.approx(expected)

    def test_clips_of_one_speaker_say_less(self) -> None:
        """The same numbers, five clips by each of six people who differ: the interval is wider, and says so."""
        values = np.repeat(np.linspace(0.3, 0.8, 6), 5)
        alone = [similar(f"c{n:02}", float(value)) for n, value in enumerate(values)]
        shared = [row.model_copy(update={"cluster": f"{n // 5:012x}"}) for n, row in enumerate(alone)]
        wide, narrow = (figures(rows)["sim_pct"].resynthesis for rows in (shared, alone))
        assert wide.value == narrow.value
        assert wide.high - wide.low > 2 * (narrow.high - narrow.low)

    def test_clips_that_do_not_count_are_no_evidence(self) -> None:
        """Clips without words, each by a person of its own, leave the interval of the word error rate as it was."""
        counted = [heard(f"c{n:02}", 0, n % 3, words=10) for n in range(6)]
        others = [heard(f"z{n:02}", 1, 1, characters=10) for n in range(30)]
        assert figures([*counted, *others])["asr_wer_pct"].resynthesis == figures(counted)["asr_wer_pct"].resynthesis

    def test_the_least_detection_cost_has_no_interval(self) -> None:
        """Its threshold is chosen on the same trials: it is too low by more than its spread."""
        probed = draw_probes(draw_rows(1, 60), ["asv"])
        found = figures(probed.rows, probed.pairs)
        assert found["asv_mindcf"].resynthesis.value is not None
        assert {score.low for score in (found["asv_mindcf"].resynthesis, found["asv_mindcf"].loss)} == {None}
        assert found["asv_eer_pct"].resynthesis.low is not None


class TestEveryProbe:
    """All that the table has."""

    def test_every_figure_is_there_with_its_counts_and_inside_its_range(self) -> None:
        """Of every probe on every dataset, sorted by dataset and as in the table."""
        rows = [*draw_rows(1, 60, dataset="one"), failed("gone", dataset="one"), *draw_rows(2, 60, dataset="two")]
        probed = draw_probes(rows)
        found = aggregate(probed.rows, metrics=(), pairs=probed.pairs).applications
        assert [(entry.dataset, entry.figure) for entry in found] == [
            (dataset, key) for dataset in ("one", "two") for key in drawn_figures()
        ]
        limits = {figure.key: figure for probe in PROBES.values() for figure in probe.metrics}
        for entry in found:
            asked = [r for r in probed.rows if r.dataset == entry.dataset and entry.probe in r.probes]
            assert entry.n + entry.left_out + entry.failed == len(asked)
            assert entry.left_out > 0
            for score in (entry.reference, entry.resynthesis):
                assert score.value is not None
                if score.low is None or score.high is None:
                    assert not limits[entry.figure].interval
                    continue
                assert limits[entry.figure].minimum <= score.low <= score.high <= limits[entry.figure].maximum

    @settings(max_examples=amount(2, 5))
    @given(st.randoms(use_true_random=False))
    def test_the_order_of_rows_and_pairs_changes_nothing(self, chance: random.Random) -> None:
        """To the last bit, so that a service that stores rows in another order recomputes the same."""
        probed, whole = drawn_whole()
        rows, pairs = list(probed.rows), list(probed.pairs)
        chance.shuffle(rows)
        chance.shuffle(pairs)
        assert figures(rows, pairs) == whole

    def test_another_dataset_or_probe_beside_changes_no_interval(self) -> None:
        """Draws depend on the dataset alone."""
        one = draw_probes(draw_rows(1, 30), ["sim"])
        more = draw_probes(one.rows, ["dnsmos"])
        other = draw_probes(draw_rows(2, 30, dataset="other"), ["sim"])
        alone = figures(one.rows)["sim_pct"]
        both = aggregate_applications([*other.rows, *more.rows], ())
        assert next(e for e in both if e.figure == "sim_pct" and e.dataset == "mini") == alone


class TestUltra:
    """The average of UltraEval-Audio, over its three datasets."""

    NAMES = tuple(entry.name for entry in DATASETS)

    def rows(self) -> list[ClipRow]:
        """Draw what its probes keep of the three datasets; Chinese is counted in characters, and has no UTMOS."""
        found = []
        for name in self.NAMES:
            keys = ["asr", "sim", "dnsmos", *(["utmos"] if name != "aishell1" else [])]
            drawn = draw_probes(draw_rows(1, 15, dataset=name, categories=["speech"]), keys).rows
            found += drawn if name != "aishell1" else [self._in_characters(row) for row in drawn]
        return found

    def _in_characters(self, row: ClipRow) -> ClipRow:
        asr = row.probes["asr"]
        shared = {"words": 0.0, "characters": asr.shared["words"]} if asr.shared else {}
        return row.model_copy(update={"probes": {**row.probes, "asr": asr.model_copy(update={"shared": shared})}})

    def backends(self) -> dict[tuple[str, str], str]:
        """Name the published table's models."""
        return {(entry.name, probe): names[0] for entry in DATASETS for probe, names in entry.backends.items()}

    def aggregates(self, rows: Sequence[ClipRow], backends: dict[tuple[str, str], str]) -> list[ApplicationAggregate]:
        """Aggregate; the average, if there is one, comes last."""
        return list(aggregate_applications(rows, (), backends=backends))

    def test_its_terms_are_without_the_same_clip(self) -> None:
        """Where a clip lacks a term, the interval is that of the average computed anew without each clip."""
        first, *rest = self.rows()
        rows = [first.model_copy(update={"probes": {k: v for k, v in first.probes.items() if k != "sim"}}), *rest]
        whole = self.aggregates(rows, self.backends())[-1].resynthesis
        without = [self.aggregates([*rows[:n], *rows[n + 1 :]], self.backends())[-1] for n in range(len(rows))]
        values = np.array([each.resynthesis.value for each in without]).reshape(len(self.NAMES), -1)
        share = np.full(values.shape[1], 1 / values.shape[1])
        found = Jackknife(np.array(whole.value), tuple(values), (share,) * len(values))
        low, high = interval(found, -np.inf, 100.0) or (0, 0)
        assert (whole.low, whole.high) == pytest.approx((low, high), abs=0.005 * (high - low))

    def test_it_is_the_mean_of_nine_and_stands_last(self) -> None:
        """On the resynthesis as on the reference, of the very values beside it; with counts and an interval."""
        *parts, ultra = self.aggregates(self.rows(), self.backends())
        assert (ultra.figure, ultra.dataset, ultra.probe) == ("ultra_average", "", "ultra")
        for side in ("reference", "resynthesis"):
            values = {(part.dataset, part.figure): getattr(part, side).value for part in parts}
            terms = []
            for name in self.NAMES:
                error, opinions = ("asr_cer_pct", []) if name == "aishell1" else ("asr_wer_pct", ["utmos"])
                heard = [values[name, key] for key in ("dnsmos_ovrl", "dnsmos_p808", *opinions)]
                terms += [100 - values[name, error], values[name, "sim_pct"], 20 * sum(heard) / len(heard)]
            assert getattr(ultra, side).value == pytest.approx(sum(terms) / 9)
        assert ultra.loss.value == pytest.approx(ultra.reference.value - ultra.resynthesis.value)
        assert ultra.resynthesis.low is not None
        assert ultra.resynthesis.high is not None
        assert ultra.resynthesis.low < ultra.resynthesis.value < ultra.resynthesis.high
        assert (ultra.n, ultra.left_out, ultra.failed) == (36, 9, 0)

    def test_it_is_absent_where_a_dataset_a_probe_or_a_model_is_another(self) -> None:
        """A number that looks like those published must be one of them."""
        rows, backends = self.rows(), self.backends()
        others = [
            self.aggregates([row for row in rows if row.dataset != "aishell1"], backends),
            self.aggregates([row.model_copy(update={"probes": {"sim": row.probes["sim"]}}) for row in rows], backends),
            self.aggregates(rows, backends | {("aishell1", "asr"): "faster-whisper:tiny.en"}),
            self.aggregates(rows, {place: name for place, name in backends.items() if place != ("aishell1", "sim")}),
            self.aggregates(rows, {}),
        ]
        assert all(entry.dataset for found in others for entry in found)

    def test_the_aggregate_of_everything_has_it(self) -> None:
        """What rows are aggregated with, seed, replicates and models, is what their applications are."""
        rows, backends = self.rows(), self.backends()
        found = aggregate(rows, metrics=[], backends=backends).applications
        assert found == aggregate_applications(rows, (), backends=backends)
        assert found[-1].figure == "ultra_average"


class TestPairsAstray:
    """Pairs that do not belong to the rows."""

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"left": "nobody"}, "pair 'nobody'"),
            ({"right": "out"}, "'out' of 'mini': expected clips on which asv is ok"),
            ({"dataset": "elsewhere"}, "pairs of asv on 'elsewhere'"),
            ({"probe": "aec"}, "pairs of aec on 'mini'"),
        ],
    )
    def test_a_pair_of_clips_that_take_no_part_is_refused(self, changes: dict[str, str], message: str) -> None:
        """Left aside, it would pass for evidence in the file and count for nothing."""
        out = row("out", probes={"asv": ProbeValue(status="left_out")})
        pair = trial("a", "b", target=True, reference=0.5, resynthesis=0.4).model_copy(update=changes)
        with pytest.raises(PipelineError, match=message):
            figures([verified("a"), verified("b"), out], [pair])

    def test_without_a_pair_there_is_evidence_of_the_same_kinds(self) -> None:
        """Clips whose pairs are all left aside give no trial: an empty choice, which still chooses."""
        pair = trial("a", "b", target=True, reference=0.5, resynthesis=0.4)
        found = paired_evidence_of(PROBES["asv"], [verified("a"), verified("b")], [pair], clips={"a"})
        assert (found.clips, found.pairs) == (("a",), 0)
        for side in (found.reference, found.resynthesis):
            assert list(side.scores[side.target]) == []


def test_a_slice_has_the_figures_of_its_clips_alone() -> None:
    """Each condition of recording stands beside the pooled figure, which stays as it is."""
    clips = [
        heard("a", 0, 1, words=2).model_copy(update={"slice": "clean"}),
        heard("b", 1, 1, words=4).model_copy(update={"slice": "clean"}),
        heard("c", 1, 3, words=4).model_copy(update={"slice": "traffic_noise"}),
        heard("d", 0, 0, words=2),
    ]
    whole = aggregate(clips, metrics=())
    rates = {entry.slice: (entry.n, entry.resynthesis.value) for entry in whole.slices if entry.figure == "asr_wer_pct"}
    assert rates == {"clean": (2, pytest.approx(100 * 2 / 6)), "traffic_noise": (1, pytest.approx(75.0))}
    (pooled,) = whole.applications
    assert (pooled.slice, pooled.n, pooled.resynthesis.value) == ("", 4, pytest.approx(100 * 5 / 12))
    assert "slice" not in pooled.model_dump()
    assert (
        "slices" not in aggregate([entry.model_copy(update={"slice": ""}) for entry in clips], metrics=()).model_dump()
    )
