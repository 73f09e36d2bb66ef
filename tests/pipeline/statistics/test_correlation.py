"""Correlation against numbers worked by hand and against numpy and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from codec_superb.pipeline.statistics.correlation import correlations, ranks


def test_worked_numbers() -> None:
    """Three things: by hand, both coefficients are a half."""
    values = np.array([[1.0, 1.0], [2.0, 3.0], [3.0, 2.0]])
    assert correlations(values).coefficients[0, 1] == pytest.approx(0.5)
    assert correlations(values, "spearman").coefficients[0, 1] == pytest.approx(0.5)


def test_a_curve_that_rises_is_perfect_for_ranks_only() -> None:
    """By hand for x = 1, 2, 3 and y = 1, 10, 100: Pearson's is 99 / sqrt(2 * 5994)."""
    values = np.array([[1.0, 1.0, -1.0], [2.0, 10.0, -2.0], [3.0, 100.0, -3.0]])
    pearson, spearman = correlations(values), correlations(values, "spearman")
    assert pearson.coefficients[0, 1] == pytest.approx(99 / np.sqrt(2 * 5994))
    assert spearman.coefficients[0, 1] == pytest.approx(1)
    assert spearman.coefficients[0, 2] == pearson.coefficients[0, 2] == pytest.approx(-1)


def test_equal_values_share_their_rank() -> None:
    """The mean of the places that they take together."""
    assert list(ranks(np.array([3.0, 1.0, 3.0, 7.0, 3.0]))) == [3, 1, 3, 5, 3]


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_numpy_and_scipy(seed: int) -> None:
    """On many values, with ties, whatever their size."""
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=(200, 4)), 1) * 10.0 ** rng.integers(-150, 150, 4)
    values[:, 1] += values[:, 0] / np.ptp(values[:, 0]) * np.ptp(values[:, 1])
    scaled = values / np.ptp(values, axis=0)
    assert correlations(values).coefficients == pytest.approx(np.corrcoef(scaled.T))
    assert correlations(values, "spearman").coefficients == pytest.approx(spearmanr(values).statistic)


def test_pairs_rest_on_what_both_have() -> None:
    """A missing value leaves the thing out of that pair alone, and the count says so."""
    values = np.array([[1.0, 2.0, np.nan], [2.0, 4.0, 1.0], [3.0, 6.0, 2.0], [4.0, np.nan, 5.0], [5.0, 1.0, 3.0]])
    found = correlations(values)
    assert found.n.tolist() == [[5, 4, 4], [4, 4, 3], [4, 3, 4]]
    both = np.isfinite(values[:, 0]) & np.isfinite(values[:, 1])
    assert found.coefficients[0, 1] == pytest.approx(np.corrcoef(values[both, 0], values[both, 1])[0, 1])


@pytest.mark.parametrize("values", [np.zeros((5, 2)), np.array([[1.0, 2.0], [2.0, 1.0]]), np.full((4, 2), np.nan)])
def test_no_coefficient_without_variation_or_things(values: np.ndarray) -> None:
    """Constants, two points and nothing: NaN, never 0 or 1."""
    for method in ("pearson", "spearman"):
        assert np.isnan(correlations(values, method).coefficients).all()  # type: ignore[arg-type]  # a literal


def test_nothing_at_all() -> None:
    """An empty table gives an empty square."""
    assert correlations(np.zeros((0, 0))).coefficients.shape == (0, 0)


def test_rounding_carries_no_coefficient_beyond_one() -> None:
    """Values that lie on a line up or down, drawn until rounding would overshoot, have exactly 1 or -1."""
    for seed in range(200):
        x = np.random.default_rng(seed).normal(size=7)
        found = correlations(np.column_stack([x, 3 * x, -0.7 * x]))
        assert np.abs(found.coefficients).max() <= 1
        assert found.n.dtype == np.int64
