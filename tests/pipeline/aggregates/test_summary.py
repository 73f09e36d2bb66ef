"""One row of the report and of the leaderboard: means of means, intervals in quadrature, sums, and rates by seconds."""

from __future__ import annotations

import math
from typing import Any

import pytest
from support.pipeline.stats import KEYS, draw_rows, failed, ok, row

from codec_superb.metrics.results import Estimate
from codec_superb.pipeline.aggregates.metrics import Aggregates, aggregate
from codec_superb.pipeline.aggregates.summary import over_datasets, summarise, summarise_dataset
from codec_superb.pipeline.tables.rows import ClipRow, MetricValue

NOTHING = {"mean": None, "sd": None, "low": None, "high": None}


def estimate(**fields: Any) -> Estimate:
    """Make the mean 2 of ten clips in [1.7, 2.4]; ``fields`` replace."""
    usual = {"n": 10, "undefined": 0, "failed": 0, "mean": 2.0, "sd": 0.5, "low": 1.7, "high": 2.4}
    return Estimate(**(usual | fields))


def test_half_widths_add_in_quadrature_by_hand() -> None:
    """Below 0.3 and 0.4 make √(0.09 + 0.16) / 2 = 0.25, above 0.5 and 1.2 make 1.3 / 2 = 0.65, about the mean 3."""
    found = over_datasets([estimate(low=1.7, high=2.5), estimate(mean=4.0, low=3.6, high=5.2)])
    assert found.mean == 3.0
    assert found.low == pytest.approx(2.75, abs=1e-12)
    assert found.high == pytest.approx(3.65, abs=1e-12)


def test_three_datasets_by_hand() -> None:
    """Half-widths of 1, 2 and 2 on both sides make 3 / 3 = 1 about the mean of 1, 2 and 6."""
    parts = [estimate(mean=mean, low=mean - half, high=mean + half) for mean, half in ((1, 1), (2, 2), (6, 2))]
    found = over_datasets(parts)
    assert (found.mean, found.low, found.high) == (3.0, 2.0, 4.0)


def test_a_dataset_counts_once_however_many_clips_it_has() -> None:
    """The mean of 1 over a thousand clips and of 3 over two is 2: no weights, as in the overall score."""
    assert over_datasets([estimate(mean=1.0, n=1000), estimate(mean=3.0, n=2)]).mean == 2.0


def test_counts_add_up() -> None:
    """Clips with a value, without meaning and failed are those of all datasets, also where there is no mean."""
    one, two = estimate(n=3, undefined=1, failed=2), estimate(n=40, undefined=10, failed=20)
    found = over_datasets([one, two])
    assert (found.n, found.undefined, found.failed) == (43, 11, 22)
    without = over_datasets([one, estimate(n=0, undefined=5, failed=7, **NOTHING)])
    assert (without.n, without.undefined, without.failed) == (3, 6, 9)


def test_one_dataset_is_itself() -> None:
    """Of a single dataset nothing changes, its standard deviation included."""
    found = over_datasets([estimate(undefined=1, failed=2)])
    assert (found.n, found.undefined, found.failed, found.mean, found.sd) == (10, 1, 2, 2.0, 0.5)
    assert found.low == pytest.approx(1.7, abs=1e-15)
    assert found.high == pytest.approx(2.4, abs=1e-15)


def test_several_datasets_have_no_common_deviation() -> None:
    """The deviation of clips of one dataset says nothing about another's, even where the two agree."""
    assert over_datasets([estimate(), estimate()]).sd is None


@pytest.mark.parametrize("parts", [[], [estimate(**NOTHING)], [estimate(), estimate(**NOTHING)]])
def test_no_mean_where_one_is_missing(parts: list[Estimate]) -> None:
    """A mean over some of the datasets would pass for that of all; with the mean goes everything beside it."""
    found = over_datasets(parts)
    assert (found.mean, found.sd, found.low, found.high) == (None, None, None, None)


@pytest.mark.parametrize("order", [1, -1], ids=["first", "last"])
def test_no_interval_where_one_is_missing(order: int) -> None:
    """A dataset of one clip has a mean and no interval: the mean over datasets stands, without one."""
    single = estimate(n=1, mean=4.0, sd=None, low=None, high=None)
    found = over_datasets([single, estimate()][::order])
    assert (found.mean, found.low, found.high) == (3.0, None, None)


def two_datasets() -> Aggregates:
    """Aggregate speech of 4 s in one dataset and of 1 s in another, and a sound."""
    speech = {"stft": ok(2.0), "mel": ok(1.0), "pesq": ok(2.0), "stoi": ok(0.8)}
    long = {"samples": 32000, "bits": 32000, "tokens": 200, "encode_s": 0.2, "decode_s": 0.4}
    short = {"samples": 8000, "bits": 2000, "tokens": 100, "encode_s": 0.1, "decode_s": 0.3}
    rows: list[ClipRow] = [
        row("a", dataset="big", metrics=speech, lag_samples=-7, clipped_samples=2, **long),
        row("b", dataset="big", metrics=speech | {"pesq": ok(3.0)}, lag_samples=3, clipped_samples=1, **long),
        failed("c", dataset="big"),
        row("d", dataset="small", metrics=speech, lag_samples=5, clipped_samples=4, **short),
        row("e", dataset="small", metrics=speech | {"pesq": MetricValue(status="undefined", reason="-")}, **short),
        row("bark", dataset="small", category="audio", metrics={"mel": ok(9.0)}),
    ]
    return aggregate(rows, metrics=KEYS)


def test_a_category_by_hand() -> None:
    """Counts add; bits and tokens are over all seconds; factors weigh by seconds; the largest lag is that of a clip."""
    aggregates = two_datasets()
    found = summarise(aggregates, aggregates.categories[0])
    assert (found.category, found.datasets, found.complete) == ("speech", ("big", "small"), False)
    assert (found.clips, found.ok, found.failed, found.seconds) == (5, 4, 1, 5.0)
    assert (found.kbps, found.tokens_per_second) == (68000 / 5 / 1000, 600 / 5)
    assert found.compression_ratio == pytest.approx((4 * 16.0 + 1 * 64.0) / 5), "each dataset's ratio by its seconds"
    assert found.encode_rtf == pytest.approx(0.6 / 5)
    assert found.decode_rtf == pytest.approx(1.4 / 5)
    assert (found.largest_lag, found.clipped_samples) == (7, 7)
    assert found.score == aggregates.categories[0].score
    pesq = found.metrics["pesq"]
    assert (pesq.mean, pesq.n, pesq.undefined, pesq.failed) == ((2.5 + 2.0) / 2, 3, 1, 1)
    assert set(found.metrics) == {"stft", "mel", "pesq", "stoi"}, "only what was computed, and nothing of the sound"


def test_a_category_with_one_dataset_is_that_dataset() -> None:
    """The sound is in one dataset: its summary over datasets says what its own summary says."""
    aggregates = two_datasets()
    (part,) = [part for part in aggregates.datasets if part.category == "audio"]
    (category,) = [category for category in aggregates.categories if category.category == "audio"]
    whole, own = summarise(aggregates, category), summarise_dataset(part)
    assert whole == own
    assert (own.datasets, own.clips, own.seconds, own.kbps, own.largest_lag) == (("small",), 1, 1.0, 16.0, 0)
    assert own.metrics == part.metrics
    assert own.score == part.score


def test_a_metric_of_some_datasets_is_the_mean_of_those() -> None:
    """A metric that one run did not compute is shown over the others, whose clips its count tells."""
    rows = [row(f"{n}", dataset="big", metrics={"mel": ok(1.0)}) for n in range(3)]
    rows += [row(f"{n}", dataset="small", metrics={"mel": ok(2.0), "pesq": ok(3.0)}) for n in range(2)]
    aggregates = aggregate(rows, metrics=KEYS)
    found = summarise(aggregates, aggregates.categories[0])
    assert (found.metrics["mel"].mean, found.metrics["mel"].n) == (1.5, 5)
    assert (found.metrics["pesq"].mean, found.metrics["pesq"].n) == (3.0, 2)


def test_a_rate_that_one_dataset_lacks_is_not_given() -> None:
    """Without the tokens, bits and times of one dataset the category has no rate, nor where all clips failed."""
    unknown = {"bits": None, "encode_s": None, "decode_s": None, "lag_samples": None}
    rows = [row("a", dataset="big", tokens=5), row("b", dataset="small", **unknown)]
    aggregates = aggregate(rows, metrics=KEYS)
    found = summarise(aggregates, aggregates.categories[0])
    assert (found.tokens_per_second, found.compression_ratio, found.encode_rtf, found.decode_rtf) == (None,) * 4
    assert (found.kbps, found.largest_lag) == (None, 0)
    nothing = aggregate([failed("a"), failed("b", dataset="other")], metrics=KEYS)
    empty = summarise(nothing, nothing.categories[0])
    assert (empty.tokens_per_second, empty.encode_rtf, empty.largest_lag, empty.seconds) == (None, None, None, 0.0)


def test_the_interval_of_two_datasets_is_narrower_than_theirs() -> None:
    """On drawn rows the interval over datasets is the quadrature of theirs, so of equal ones it is 1/√2 as wide."""
    rows = draw_rows(1, 30) + [r.model_copy(update={"dataset": "other"}) for r in draw_rows(1, 30)]
    aggregates = aggregate(rows, metrics=KEYS)
    found = summarise(aggregates, aggregates.categories[0]).metrics["pesq"]
    one, two = (part.metrics["pesq"] for part in aggregates.datasets if part.category == "speech")
    assert None not in (found.mean, found.low, one.low, two.low)
    below = math.hypot(one.mean - one.low, two.mean - two.low) / 2  # type: ignore[operator]  # not None, see above
    assert found.mean - found.low == pytest.approx(below)  # type: ignore[operator]
    assert below < 0.8 * (one.mean - one.low)  # type: ignore[operator]
