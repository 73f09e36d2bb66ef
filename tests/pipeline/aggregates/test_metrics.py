"""Aggregates: by hand on small rows, the same in any order, and a gap is shown as a gap."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pipeline.stats import KEYS, draw_rows, failed, ok, row
from support.profile import examples

from codec_superb.pipeline.aggregates.metrics import DatasetAggregate, aggregate
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.tables.rows import ClipRow, MetricValue

UNDEFINED = MetricValue(status="undefined", reason="no utterance")
CRASHED = MetricValue(status="failed", reason="ValueError: no")
SPEECH = {"stft": ok(2.0), "mel": ok(1.0), "pesq": ok(2.0), "stoi": ok(0.8)}


def only(rows: list[ClipRow], **options: int) -> DatasetAggregate:
    """Aggregate rows of one group."""
    (dataset,) = aggregate(rows, metrics=KEYS, **options).datasets
    return dataset


def test_mean_counts_and_deviation_by_hand() -> None:
    """Three values, one undefined, one crash, one failed clip: mean 2 and deviation 1 over n = 3."""
    rows = [
        *(row(f"v{value}", metrics={"pesq": ok(float(value))}) for value in (1, 2, 3)),
        row("undefined", metrics={"pesq": UNDEFINED}),
        row("crashed", metrics={"pesq": CRASHED}),
        failed("failed"),
    ]
    dataset = only(rows)
    pesq = dataset.metrics["pesq"]
    assert (pesq.n, pesq.undefined, pesq.failed) == (3, 1, 2)
    assert (pesq.mean, pesq.sd) == (2.0, 1.0)
    assert pesq.low is not None
    assert pesq.high is not None
    assert -0.5 < pesq.low < 2.0 < pesq.high < 4.65
    assert (dataset.clips, dataset.ok, dataset.failed, dataset.complete) == (6, 5, 1, False)


def test_rates_by_hand() -> None:
    """All bits over all seconds: 3 s with 30,000 bits and 1 s with 2,000 are 8 kbps, not the mean of 10 and 2."""
    rows = [
        row("long", samples=48000, bits=30000, tokens=300, encode_s=0.3, decode_s=0.6, lag_samples=-2),
        row(
            "short", samples=16000, bits=2000, tokens=100, encode_s=0.1, decode_s=0.2, lag_samples=1, clipped_samples=5
        ),
        failed("gone"),
    ]
    dataset = only(rows)
    assert dataset.seconds == 4.0
    assert dataset.bits == 32000
    assert dataset.kbps == 8.0
    assert dataset.tokens_per_second == 100.0
    assert dataset.compression_ratio == 16 * 64000 / 32000
    assert dataset.encode_rtf == pytest.approx(0.1)
    assert dataset.decode_rtf == pytest.approx(0.2)
    assert dataset.largest_lag == 2
    assert dataset.clipped_samples == 5


def test_a_rate_over_some_of_the_clips_is_not_given() -> None:
    """When the bits of one clip are not known there is no bitrate, rather than that of the others."""
    dataset = only([row("a"), row("b", bits=None)])
    assert dataset.kbps is None
    assert dataset.compression_ratio is None
    assert dataset.tokens_per_second is None


def test_dataset_score_by_hand() -> None:
    """Harmonic mean of σ(1/2), σ(1), 0.5 and 0.8, where σ is the logistic function."""
    parts = [1 / (1 + math.exp(-1 / 2)), 1 / (1 + math.exp(-1)), 0.5, 0.8]
    dataset = only([row("a", metrics=SPEECH), row("b", metrics=SPEECH)])
    assert dataset.score.value == pytest.approx(4 / sum(1 / part for part in parts))
    assert dataset.score.low == pytest.approx(dataset.score.value)
    assert dataset.score.high == pytest.approx(dataset.score.value)


def test_category_score_is_the_harmonic_mean_of_datasets() -> None:
    """Two datasets, each counted once however many clips it has."""
    better = {**SPEECH, "pesq": ok(4.0)}
    rows = [row(f"{n}", dataset="big", metrics=SPEECH) for n in range(9)] + [
        row("only", dataset="small", metrics=better)
    ]
    found = aggregate(rows, metrics=KEYS)
    big, small = (dataset.score.value for dataset in found.datasets)
    (category,) = found.categories
    assert category.datasets == ("big", "small")
    assert big is not None
    assert small is not None
    assert category.score.value == pytest.approx(2 / (1 / big + 1 / small))
    assert category.score.low is None, "one dataset has a single clip: nothing can be said"
    assert category.kbps == 16.0


@pytest.mark.parametrize("missing", ["undefined", "failed", "absent"])
def test_without_one_of_its_metrics_there_is_no_score(missing: str) -> None:
    """A score over fewer metrics is never given: PESQ undefined, crashed or not computed leaves None."""
    metrics = dict(SPEECH)
    if missing == "absent":
        del metrics["pesq"]
    else:
        metrics["pesq"] = UNDEFINED if missing == "undefined" else CRASHED
    found = aggregate(
        [row("a", metrics=metrics), row("b", metrics=metrics), *draw_rows(1, 9, dataset="other")], metrics=KEYS
    )
    mini = found.datasets[0]
    assert (mini.score.value, mini.score.low, mini.score.high) == (None, None, None)
    assert mini.metrics["stoi"].mean == 0.8
    speech = found.categories[0]
    assert speech.datasets == ("mini", "other")
    assert speech.score.value is None
    assert found.categories[1].score.value is not None


def test_a_metric_that_was_computed_on_no_clip_is_absent() -> None:
    """What nobody asked for is not a row of zeros; what failed on every clip is."""
    assert set(only([row("a", metrics={"pesq": ok(2.0)})]).metrics) == {"pesq"}
    everything_failed = only([failed("a"), failed("b")])
    assert set(everything_failed.metrics) == set(KEYS)
    assert everything_failed.metrics["pesq"].failed == 2
    assert everything_failed.metrics["pesq"].mean is None
    assert (everything_failed.kbps, everything_failed.largest_lag) == (None, None)


@pytest.mark.parametrize(
    ("rows", "expected", "complete"),
    [
        ([row("a", metrics=SPEECH), row("b", metrics=SPEECH)], 2, True),
        ([row("a", metrics=SPEECH), row("b", metrics={**SPEECH, "pesq": UNDEFINED})], 2, True),
        ([row("a", metrics=SPEECH), row("b", metrics=SPEECH)], 3, False),
        ([row("a", metrics=SPEECH), failed("b")], 2, False),
        ([row("a", metrics=SPEECH), row("b", metrics={**SPEECH, "pesq": CRASHED})], 2, False),
        ([row("a", metrics=SPEECH), row("b", metrics={"pesq": ok(2.0)})], 2, False),
    ],
    ids=["all there", "undefined is no gap", "clips missing", "clip failed", "metric crashed", "metric not computed"],
)
def test_what_is_incomplete_is_shown_as_incomplete(rows: list[ClipRow], expected: int, complete: bool) -> None:
    """A dataset with a gap stays in the table and says so, in its category as well."""
    found = aggregate(rows, metrics=KEYS, expected={"mini": expected})
    assert found.datasets[0].complete is complete
    assert found.categories[0].complete is complete


def test_a_clip_with_two_rows_is_an_error() -> None:
    """Counting a clip twice would weigh it twice."""
    with pytest.raises(PipelineError, match="expected one row, got two"):
        aggregate([row("a"), row("a")], metrics=KEYS)


@examples(20)
@given(st.permutations(range(30)), st.permutations(KEYS))
def test_order_of_rows_and_metrics_does_not_matter(order: list[int], metrics: list[str]) -> None:
    """Any permutation gives the same numbers, bit for bit."""
    rows = draw_rows(3, 30)
    assert aggregate([rows[n] for n in order], metrics=metrics) == aggregate(rows, metrics=KEYS)


def test_adding_a_dataset_changes_nothing_else() -> None:
    """What is beside a dataset and category does not matter to its intervals, nor does another metric."""
    alone = aggregate(draw_rows(1, 30), metrics=KEYS)
    beside = aggregate(draw_rows(1, 30) + draw_rows(2, 12, dataset="another"), metrics=KEYS)
    assert [entry for entry in beside.datasets if entry.dataset == "mini"] == list(alone.datasets)
    fewer = aggregate(draw_rows(1, 30), metrics=["pesq"])
    for one, two in zip(fewer.datasets, alone.datasets, strict=True):
        assert one.metrics["pesq"].low == pytest.approx(two.metrics["pesq"].low, rel=1e-12)


def test_clips_of_one_speaker_say_less() -> None:
    """The same numbers by five speakers: counted, and every interval of a mean that differs by speaker is wider."""
    rows = [row(f"{n:02}", metrics={**SPEECH, "pesq": ok(1.5 + 0.5 * (n // 5))}) for n in range(25)]
    alone = only(rows)
    shared = only([entry.model_copy(update={"cluster": f"{n // 5:012x}"}) for n, entry in enumerate(rows)])
    assert (alone.clusters, shared.clusters) == (25, 5)
    for wide, narrow in ((shared.score, alone.score), (shared.metrics["pesq"], alone.metrics["pesq"])):
        assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_the_score_interval_covers_the_true_score() -> None:
    """Of 120 drawn datasets of 24 clips, nearly 95 % have the score of the true means in their interval."""
    truth = {"stft": 2.0, "mel": 1.5, "pesq": 2.5, "stoi": 0.85}
    rng = np.random.default_rng(11)
    exact = only([row("a", metrics={key: ok(value) for key, value in truth.items()})]).score.value
    assert exact is not None
    covered = 0
    for _ in range(120):
        noise = rng.normal(size=(24, 4)) * [0.3, 0.2, 0.4, 0.05]
        values = np.array(list(truth.values())) + noise
        rows = [
            row(f"{n}", metrics={key: ok(float(value)) for key, value in zip(truth, line, strict=True)})
            for n, line in enumerate(values)
        ]
        score = aggregate(rows, metrics=list(truth)).datasets[0].score
        assert score.low is not None
        assert score.high is not None
        covered += score.low <= exact <= score.high
    assert 0.89 <= covered / 120 <= 0.99
