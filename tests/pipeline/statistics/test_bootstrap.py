"""Resampling and intervals: reproducible, right on average, and equal to scipy's where both say the same."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from support.profile import examples

from codec_superb.pipeline.statistics.bootstrap import (
    interval,
    lower_tail,
    mean,
    random_stream,
    replicate_means,
    standard_deviation,
)

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


def test_the_stream_is_fixed_for_good() -> None:
    """Servers recompute intervals: the random numbers must be these whatever the versions of numpy and Python."""
    drawn = random_stream(0, "mini", "speech").random_raw(2).tolist()
    assert drawn == [16046863234854262166, 13655092782035431589]


def test_each_seed_and_group_has_its_own_stream() -> None:
    """A dataset or a category added changes no interval of another."""
    first = {
        tuple(random_stream(seed, *names).random_raw(4))
        for seed in (0, 1)
        for names in (("a", "b"), ("ab", ""), ("b", "a"))
    }
    assert len(first) == 6


def test_replicates_are_means_of_drawn_clips() -> None:
    """With two clips a replicate is one of three means, drawn 1:2:1."""
    draws = replicate_means(np.array([[0.0], [1.0]]), 4000, random_stream(0, "two"))[:, 0]
    assert set(draws.tolist()) == {0.0, 0.5, 1.0}
    assert np.mean(draws == 0.5) == pytest.approx(0.5, abs=0.03)
    assert np.mean(draws == 0.0) == pytest.approx(0.25, abs=0.03)


def test_columns_are_resampled_together() -> None:
    """Metrics of one clip stay together: a column and its double stay in step in every replicate."""
    values = np.random.default_rng(1).normal(size=(17, 1))
    draws = replicate_means(np.hstack([values, 2 * values]), 200, random_stream(0, "x"))
    np.testing.assert_allclose(draws[:, 1], 2 * draws[:, 0], rtol=1e-12, atol=1e-12)


def test_undefined_values_are_left_out_of_each_replicate() -> None:
    """A replicate averages the drawn clips that have a value, and is NaN when it drew none of them."""
    draws = replicate_means(np.array([[3.0], [np.nan], [np.nan]]), 500, random_stream(0, "x"))[:, 0]
    assert set(draws[np.isfinite(draws)].tolist()) == {3.0}
    assert np.mean(np.isnan(draws)) == pytest.approx((2 / 3) ** 3, abs=0.06)


def test_many_clips_are_drawn_in_blocks_like_few() -> None:
    """Blocks bound memory and change nothing: spread and centre are those of the theory."""
    values = np.random.default_rng(2).normal(size=(30_000, 1))
    draws = replicate_means(values, 200, random_stream(0, "many"))[:, 0]
    assert draws.shape == (200,)
    assert np.std(draws) == pytest.approx(np.std(values) / math.sqrt(30_000), rel=0.15)
    assert np.mean(draws) == pytest.approx(np.mean(values), abs=4 * np.std(values) / math.sqrt(30_000 * 200))


@examples(60)
@given(VALUES)
def test_a_replicate_lies_between_the_values(values: list[float]) -> None:
    """Rounding never carries a mean outside the data: a distance stays at or above 0."""
    draws = replicate_means(np.array(values)[:, np.newaxis], 50, random_stream(0, "x"))
    assert min(values) <= draws.min()
    assert draws.max() <= max(values)


@examples(60)
@given(VALUES, st.randoms(use_true_random=False))
def test_mean_and_deviation_do_not_depend_on_order(values: list[float], random: object) -> None:
    """Sums are exactly rounded, so any permutation gives the same bits."""
    shuffled = values.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # random.Random
    assert mean(np.array(values)) == mean(np.array(shuffled))
    assert standard_deviation(np.array(values)) == pytest.approx(standard_deviation(np.array(shuffled)), nan_ok=True)


def test_mean_and_deviation_known_answers() -> None:
    """Sample deviation of 2, 4, 4, 4, 5, 5, 7, 9 is sqrt(32/7); undefined values are skipped; nothing gives NaN."""
    values = np.array([2.0, 4, 4, np.nan, 4, 5, 5, 7, 9])
    assert mean(values) == 5.0
    assert standard_deviation(values) == pytest.approx(math.sqrt(32 / 7))
    assert math.isnan(mean(np.array([np.nan])))
    assert math.isnan(standard_deviation(np.array([1.0])))


def test_the_interval_agrees_with_scipy_for_many_clips() -> None:
    """For 400 clips the widened levels are nearly 2.5 %: an independent percentile bootstrap gives the same ends."""
    values = np.random.default_rng(3).lognormal(size=400)
    own = interval(replicate_means(values[:, np.newaxis], 4000, random_stream(0, "x"))[:, 0], 400)
    other = stats.bootstrap(
        (values,), np.mean, n_resamples=4000, method="percentile", rng=np.random.default_rng(4)
    ).confidence_interval
    width = other.high - other.low
    assert own is not None
    assert own[0] == pytest.approx(other.low, abs=0.05 * width)
    assert own[1] == pytest.approx(other.high, abs=0.05 * width)


def test_the_interval_of_normal_values_is_that_of_the_t_distribution() -> None:
    """Widening makes the bootstrap of few clips as wide as the exact interval for normal values."""
    values = np.random.default_rng(5).normal(size=12)
    draws = replicate_means(values[:, np.newaxis], 20_000, random_stream(0, "x"))[:, 0]
    own = interval(draws, 12)
    exact = stats.t.interval(0.95, 11, loc=values.mean(), scale=values.std(ddof=1) / math.sqrt(12))
    assert own is not None
    assert own[1] - own[0] == pytest.approx(exact[1] - exact[0], rel=0.1)


@pytest.mark.parametrize(
    ("sample", "truth", "least"),
    [
        (lambda rng, size: rng.normal(size=size), 0.0, 0.92),
        (lambda rng, size: rng.beta(8, 1, size=size), 8 / 9, 0.89),
        (lambda rng, size: rng.lognormal(0, 0.5, size=size), math.exp(0.125), 0.89),
    ],
    ids=["normal", "like STOI", "like a distance"],
)
def test_intervals_of_fifteen_clips_cover_the_truth(sample: object, truth: float, least: float) -> None:
    """Of 300 drawn datasets nearly 95 % have the true mean in their interval; plain percentiles reach 0.89 to 0.92."""
    rng = np.random.default_rng(6)
    covered = 0
    for number in range(300):
        values = sample(rng, (15, 1))  # type: ignore[operator]  # a lambda of the list above
        low, high = interval(replicate_means(values, 1000, random_stream(number, "x"))[:, 0], 15) or (1, 0)
        covered += low <= truth <= high
    assert least <= covered / 300 <= 0.985


def test_levels_known_answers() -> None:
    """By hand: Φ(−sqrt(30/29) · t(0.975; 29)) = Φ(−2.0802) = 0.0188, and 2.5 % in the limit."""
    assert lower_tail(30) == pytest.approx(0.01875, abs=1e-4)
    assert lower_tail(10**6) == pytest.approx(0.025, abs=1e-5)


def test_no_interval_where_nothing_can_be_said() -> None:
    """One clip has no spread; a statistic that is undefined in many replicates has no quantiles."""
    assert interval(np.ones(100), 1) is None
    assert interval(np.r_[np.ones(90), np.full(10, np.nan)], 5) is None
    assert interval(np.r_[np.ones(96), np.full(4, np.nan)], 5) == (1.0, 1.0)
