"""Resampling: reproducible, right on average, and cluster by cluster."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import examples

from codec_superb.metrics.noise.random_numbers import random_stream
from codec_superb.pipeline.statistics.bootstrap import mean, replicate_means, standard_deviation, widening

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


def test_clips_of_one_cluster_are_drawn_together() -> None:
    """Two clusters of two clips give three means, drawn 1:2:1, as two clips would."""
    values = np.array([[0.0], [1.0], [0.0], [1.0]])
    draws = replicate_means(values, 4000, random_stream(0, "two"), np.array([0, 1, 0, 1]))[:, 0]
    assert set(draws.tolist()) == {0.0, 0.5, 1.0}
    assert np.mean(draws == 0.5) == pytest.approx(0.5, abs=0.03)


def test_few_units_are_spread_by_hand() -> None:
    """By hand: sqrt(30/29) · t(0.975; 29) / 1.95996 = 1.0613, and nothing in the limit."""
    assert widening(30) == pytest.approx(1.06134, abs=1e-5)
    assert widening(10**6) == pytest.approx(1.0, abs=1e-5)
