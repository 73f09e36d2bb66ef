"""Intervals: known answers, equal to scipy where both say the same, and right as often as they say."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from support.profile import examples

from codec_superb.pipeline.statistics import jackknife
from codec_superb.pipeline.statistics.jackknife import Floats, combine, interval, means, numbered

VALUES = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30)


def of_mean(values: Floats, clusters: Floats | None = None, *ends: float) -> tuple[float, float] | None:
    """Return the interval of a mean; each clip its own cluster where none are given."""
    numbers = np.arange(len(values)) if clusters is None else clusters.astype(np.int64)
    return interval(means(values[:, None], numbers, np.array([values.mean()])).column(0), *ends)


def test_of_symmetric_values_it_is_students() -> None:
    """Without skewness and without ends: mean and t times the standard error, as scipy has it, to rounding."""
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    exact = stats.t.interval(0.95, 6, loc=4.0, scale=values.std(ddof=1) / math.sqrt(7))
    assert of_mean(values) == pytest.approx(exact, rel=1e-12)


def test_on_a_logarithm_by_hand() -> None:
    """Five distances of 1, five of 3: without one of them the mean is 19/9 or 17/9; influences are 0.9 of the gaps."""
    a, b = 0.9 * math.log(18 / 19), 0.9 * math.log(18 / 17)
    squares, cubes = 5 * (a * a + b * b), 5 * (a**3 + b**3)
    quantile, skew = stats.t.ppf(0.975, 9), cubes / squares**1.5
    assert 0 < skew < 0.6 / quantile
    bent = [3 / skew * (math.cbrt(1 + skew * (t - skew / 6)) - 1) for t in (quantile, -quantile)]
    expected = [2 * math.exp(-math.sqrt(10 / 9 * squares) * t) for t in bent]
    assert of_mean(np.repeat([1.0, 3.0], 5), None, 0.0) == pytest.approx(expected, rel=1e-12)


def test_of_few_clusters_it_spans_two_scales() -> None:
    """With fewer than ten clusters: Student's own interval, cut off at the ends, and on odds 4.5 times them at most."""
    near, far = np.array([0.4, 0.45, 0.55, 0.6]), np.array([0.9, 0.97, 0.98, 0.99])
    exact = stats.t.interval(0.95, 3, loc=0.5, scale=near.std(ddof=1) / 2)
    assert of_mean(near, None, 0.0, 1.0) == pytest.approx(exact, abs=0.01)
    low, high = of_mean(far, None, 0.0, 1.0) or (0, 0)
    odds = far.mean() / (1 - far.mean())
    assert low == pytest.approx(odds / math.exp(1.5) / (1 + odds / math.exp(1.5)), rel=1e-9)
    assert high == 1.0


def test_a_large_cluster_counts_by_its_share() -> None:
    """Of 22 clips 20 by one speaker are no two clusters; two speakers of ten are."""
    values = np.random.default_rng(2).normal(size=22)
    assert of_mean(values, np.r_[np.zeros(20), 1, 2]) is None
    assert of_mean(values[:20], np.repeat([0, 1], 10)) is not None


def test_clips_of_a_cluster_are_one_piece_of_evidence() -> None:
    """Each clip four times over, in a cluster of its own, says what the clips alone say."""
    values = np.random.default_rng(1).lognormal(size=12)
    assert of_mean(np.repeat(values, 4), np.repeat(np.arange(12), 4)) == pytest.approx(of_mean(values), rel=1e-9)


def test_skewed_values_have_a_longer_arm_on_the_side_of_the_tail() -> None:
    """A few large values tell of larger ones that were not drawn."""
    values = np.r_[np.linspace(1, 2, 18), 6.0, 9.0]
    low, high = of_mean(values) or (0, 0)
    assert 1.3 < (high - values.mean()) / (values.mean() - low) < 2


def test_nothing_is_said_where_nothing_can_be_said() -> None:
    """One cluster, and a statistic that hangs on one cluster, have no interval; equal values have one without width."""
    one, two = np.array([1.0, 2.0]), np.array([0.5, np.nan, np.nan])
    assert of_mean(one, np.zeros(2)) is None
    assert interval(means(two[:, None], np.arange(3), np.array([0.5])).column(0)) is None
    assert of_mean(np.ones(9), None, 0.0, 1.0) == of_mean(np.ones(9), None, 0.0, 2.0) == (1.0, 1.0)


def test_a_value_that_hangs_on_one_clip_stays_inside_its_range() -> None:
    """Errors on a single clip: without it there are none, where the logarithm has no place."""
    low, high = of_mean(np.r_[np.zeros(10), 0.5], None, 0.0) or (-1, -1)
    assert low == 0.0
    assert high > 0.05


@examples(60)
@given(VALUES, st.randoms(use_true_random=False))
def test_names_of_clusters_and_order_of_clips_do_not_matter(values: list[float], chance: object) -> None:
    """Any permutation gives the same interval to rounding."""
    order = list(range(len(values)))
    chance.shuffle(order)  # type: ignore[attr-defined]  # random.Random
    names = [f"c{n // 2}" for n in range(len(values))]
    one = of_mean(np.array(values), numbered(names))
    two = of_mean(np.array([values[n] for n in order]), numbered([names[n] for n in order]))
    assert (one or (0, 0)) == pytest.approx(two or (0, 0), rel=1e-6, abs=1e-6)


@examples(60)
@given(st.lists(st.floats(0.01, 0.99), min_size=2, max_size=30))
def test_an_interval_lies_in_the_range_and_holds_the_value(values: list[float]) -> None:
    """Of a share, between 0 and 1, with its mean inside."""
    mean = float(np.mean(values))
    low, high = of_mean(np.array(values), None, 0.0, 1.0) or (mean, mean)
    assert 0.0 <= low <= mean + 1e-12
    assert mean - 1e-12 <= high <= 1.0


def test_several_datasets_add_their_variances() -> None:
    """The difference of two independent means has the interval of Welch's test, as scipy has it."""
    one, two = np.linspace(-1, 1, 9), np.linspace(0, 4, 14)
    parts = [means(x[:, None], np.arange(len(x)), np.array([x.mean()])).column(0) for x in (one, two)]
    found = combine(lambda values: values[0] - values[1], parts)
    welch = stats.ttest_ind(one, two, equal_var=False).confidence_interval()
    assert interval(found) == pytest.approx((welch.low, welch.high), rel=1e-9)


def test_many_clusters_are_left_out_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 2,000 clips the width is that of all left out singly, at a fraction of the work."""
    values = np.random.default_rng(4).lognormal(size=2000)
    grouped = of_mean(values) or (0, 0)
    monkeypatch.setattr(jackknife, "GROUPS", 2000)
    single = of_mean(values) or (0, 0)
    assert grouped[1] - grouped[0] == pytest.approx(single[1] - single[0], rel=0.15)


def _alike(rng: np.random.Generator, clusters: Floats, column: Callable[[Floats], Floats]) -> Floats:
    alike = 0.4 if int(clusters.max()) + 1 < len(clusters) else 0.0
    shared, own = rng.normal(size=int(clusters.max()) + 1)[clusters], rng.normal(size=len(clusters))
    return column(stats.norm.cdf(math.sqrt(alike) * shared + math.sqrt(1 - alike) * own))


SHAPES: dict[str, tuple[Callable[[Floats], Floats], float, tuple[float, ...]]] = {
    "a distance": (lambda u: stats.lognorm.ppf(u, 0.35), math.exp(0.35**2 / 2), (0.0,)),
    "like STOI": (lambda u: stats.beta.ppf(u, 16, 1.5), 16 / 17.5, (0.0, 1.0)),
    "like lost pitch": (lambda u: 1 - stats.gamma.ppf(1 - u, 0.3) / 4, 1 - 0.3 / 4, (-np.inf, 1.0)),
}


CLUSTERS = {
    "alone": np.arange(48),
    "six of a speaker": np.repeat(np.arange(12), 6),
    "one large speaker": np.repeat(np.arange(6), [1, 1, 1, 5, 5, 10]),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("clusters", CLUSTERS.values(), ids=CLUSTERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_hold_the_truth(shape: str, clusters: Floats) -> None:
    """Of 400 datasets 95 % within the simulation's error, which is 1.1 %."""
    column, truth, ends = SHAPES[shape]
    rng = np.random.default_rng(6)
    held = 0
    for _ in range(400):
        low, high = of_mean(_alike(rng, clusters, column), clusters, *ends) or (1, 0)
        held += low <= truth <= high
    assert 0.91 <= held / 400 <= 0.98
