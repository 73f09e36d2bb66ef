"""Paired comparison: differences by hand, what is left out is counted, intervals agree with scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from support.pipeline.stats import KEYS, draw_rows, failed, ok, row
from support.profile import examples

from codec_superb.pipeline.statistics.jackknife import Jackknife
from codec_superb.pipeline.statistics.paired import PairedMetric, compare_paired, difference_of
from codec_superb.pipeline.tables.rows import ClipRow, MetricValue

UNDEFINED = MetricValue(status="undefined", reason="no utterance")


def pesq(values: dict[str, float | None]) -> list[ClipRow]:
    """Rows with PESQ alone; None is undefined."""
    return [row(clip, metrics={"pesq": UNDEFINED if value is None else ok(value)}) for clip, value in values.items()]


def only_metric(first: list[ClipRow], second: list[ClipRow], key: str = "pesq") -> PairedMetric:
    """Compare and take the one metric."""
    (dataset,) = compare_paired(first, second, metrics=[key]).datasets
    (metric,) = dataset.metrics
    return metric


def test_known_answer() -> None:
    """By hand: over a, b and c the means are 2.0 and 1.5; two wins, one loss."""
    metric = only_metric(pesq({"a": 1.0, "b": 2.0, "c": 3.0}), pesq({"a": 0.5, "b": 2.5, "c": 1.5}))
    assert metric.n == 3
    assert (metric.wins, metric.losses, metric.ties) == (2, 1, 0)
    assert metric.result is not None
    assert metric.result.first == 2.0
    assert metric.result.second == 1.5
    assert metric.result.difference == 0.5
    assert metric.result.low is not None
    assert metric.result.high is not None
    assert metric.result.low < 0.5 < metric.result.high


def test_a_distance_is_better_when_it_is_smaller() -> None:
    """For STFT distance the sign of the difference stays first minus second, wins and shares follow the direction."""
    first = [row(clip, metrics={"stft": ok(1.0 + 0.01 * n)}) for n, clip in enumerate("abcdef")]
    second = [row(clip, metrics={"stft": ok(2.0)}) for clip in "abcdef"]
    metric = only_metric(first, second, "stft")
    assert metric.wins == 6
    assert metric.result is not None
    assert metric.result.difference < 0
    assert metric.result.first_better == 1.0


def test_what_only_one_side_has_is_counted_and_left_out() -> None:
    """Clips that failed or are missing on one side, and values that one side lacks, change no mean."""
    first = [*pesq({"a": 1.0, "b": 2.0, "c": 9.0, "x": None}), failed("d")]
    second = pesq({"a": 1.0, "b": 4.0, "d": 9.0, "x": 9.0, "e": 9.0})
    report = compare_paired(first, second, metrics=["pesq"])
    (dataset,) = report.datasets
    assert (dataset.shared, dataset.only_first, dataset.only_second) == (3, 1, 2)
    (metric,) = dataset.metrics
    assert (metric.n, metric.only_first, metric.only_second) == (2, 0, 1)
    assert metric.result is not None
    assert (metric.result.first, metric.result.second) == (1.5, 2.5)


def test_nothing_shared_gives_no_numbers() -> None:
    """Two codecs on different clips of a dataset have no difference, and the dataset is named as left out."""
    report = compare_paired(pesq({"a": 1.0}), pesq({"b": 1.0}), metrics=["pesq"])
    assert report.datasets[0].shared == 0
    assert report.datasets[0].metrics[0].result is None
    assert report.categories[0].score is None
    assert report.categories[0].left_out == ("mini",)


def test_a_dataset_of_one_side_is_left_out_of_the_category_by_name() -> None:
    """The category score is over shared datasets, and says which are not."""
    first = draw_rows(1, 30) + draw_rows(1, 30, dataset="other")
    report = compare_paired(first, draw_rows(2, 30), metrics=KEYS)
    assert {entry.datasets for entry in report.categories} == {("mini",)}
    assert {entry.left_out for entry in report.categories} == {("other",)}


def test_a_codec_against_itself_is_a_tie() -> None:
    """Equal values: difference and interval are zero, and no share leans to either side."""
    rows = draw_rows(1, 30)
    report = compare_paired(rows, rows[::-1], metrics=KEYS)
    for category in report.categories:
        assert category.score is not None
        assert (category.score.difference, category.score.low, category.score.high) == (0.0, 0.0, 0.0)
        assert category.score.first_better == 0.5


def test_a_small_but_steady_gain_is_seen_through_pairing() -> None:
    """Clips differ far more than codecs do: each mean's interval covers both, the paired one excludes zero."""
    better, worse = draw_rows(1, 60, quality=0.1), draw_rows(2, 60)
    report = compare_paired(better, worse, metrics=KEYS)
    for category in report.categories:
        assert category.score is not None
        assert category.score.low is not None
        assert category.score.low > 0
        assert category.score.first_better > 0.975


def test_the_paired_interval_agrees_with_scipy() -> None:
    """An independent paired bootstrap of 300 clips gives the same ends for a metric's difference."""
    rng = np.random.default_rng(8)
    base = rng.normal(2, 0.3, 300)
    one, two = base + rng.normal(0.05, 0.1, 300), base + rng.normal(0, 0.1, 300)
    metric = only_metric(
        pesq({f"{n:03}": float(value) for n, value in enumerate(one)}),
        pesq({f"{n:03}": float(value) for n, value in enumerate(two)}),
    )
    other = stats.bootstrap(
        (one, two),
        lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=4000,
        method="percentile",
        rng=np.random.default_rng(9),
    ).confidence_interval
    width = other.high - other.low
    assert metric.result is not None
    assert metric.result.low == pytest.approx(other.low, abs=0.08 * width)
    assert metric.result.high == pytest.approx(other.high, abs=0.08 * width)


@examples(15)
@given(st.permutations(range(24)), st.permutations(range(24)))
def test_order_of_rows_does_not_matter(one: list[int], two: list[int]) -> None:
    """Any order of either side gives the same report, bit for bit."""
    first, second = draw_rows(1, 24), draw_rows(2, 24)
    shuffled = compare_paired([first[n] for n in one], [second[n] for n in two], metrics=KEYS)
    assert shuffled == compare_paired(first, second, metrics=KEYS)


def test_swapping_the_codecs_flips_every_sign() -> None:
    """Differences, interval ends and shares mirror; wins become losses."""
    first, second = draw_rows(1, 40), draw_rows(2, 40, quality=0.02)
    there = compare_paired(first, second, metrics=KEYS)
    back = compare_paired(second, first, metrics=KEYS)
    for one, two in zip(there.datasets, back.datasets, strict=True):
        assert one.score is not None
        assert two.score is not None
        assert one.score.difference == pytest.approx(-two.score.difference)
        assert one.score.low == pytest.approx(-(two.score.high or 0))
        assert one.score.first_better == pytest.approx(1 - two.score.first_better)
        for here, there_ in zip(one.metrics, two.metrics, strict=True):
            assert (here.wins, here.losses) == (there_.losses, there_.wins)


def test_the_share_of_replicates_by_hand() -> None:
    """Two ahead, one tied and one behind are 2.5 of 4; what is undefined says nothing, and of nothing it is a half."""
    draws = np.array([[2.0, 1.0], [2.0, 1.0], [1.0, 1.0], [1.0, 2.0], [np.nan, 1.0]])
    point = np.array([2.0, 1.0])
    found = Jackknife(point, (np.array([[2.0, 1.1], [2.0, 0.9]]),), (np.full(2, 0.5),))
    assert difference_of(found, draws).first_better == 2.5 / 4
    assert difference_of(found, draws, -1).first_better == 1.5 / 4
    assert difference_of(found, np.full((5, 2), np.nan)).first_better == 0.5
    assert difference_of(Jackknife(point, (np.full((5, 2), np.nan),), (np.full(5, 0.2),)), draws).low is None


def test_a_tie_is_neither_a_win_nor_a_loss() -> None:
    """Of four clips one is better, two are equal and one is worse, also where less is better."""
    values = {"a": (1.0, 2.0), "b": (3.0, 3.0), "c": (4.0, 4.0), "d": (6.0, 5.0)}
    for key in ("pesq", "mel"):
        first, second = ([row(clip, metrics={key: ok(pair[n])}) for clip, pair in values.items()] for n in (0, 1))
        metric = only_metric(first, second, key)
        assert (metric.wins, metric.losses, metric.ties) == (1, 1, 2)
