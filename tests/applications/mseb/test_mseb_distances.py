"""Distances of sets of vectors: known answers, scipy's root of a matrix and distances, laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.linalg import sqrtm
from scipy.spatial.distance import cdist, pdist
from support.profile import examples

from codec_superb.applications.mseb.distances import (
    Kernel,
    fad,
    kad,
    kad_compat,
    mean_squared_difference,
    median_distance,
    similarities,
)

Floats = NDArray[np.float64]


def _column(*values: float) -> Floats:
    return np.array(values)[:, None]


def _drawn(seed: int, frames: int, dimensions: int) -> tuple[Floats, Floats]:
    """Two paired sets, the second a distorted copy of the first."""
    stream = np.random.default_rng(seed)
    mixing = stream.normal(size=(dimensions, dimensions))
    one = stream.normal(size=(frames, dimensions)) @ mixing + stream.normal(size=dimensions)
    return one, 0.8 * one + 0.5 * stream.normal(size=one.shape) + 0.3


def test_known_answers() -> None:
    """Two points a set, by hand."""
    assert fad(_column(0, 2), _column(10, 14)) == pytest.approx(123)  # 11² + (√2 - √8)²
    assert kad(_column(0, 1), _column(2, 3), paired=False) == pytest.approx(76.8906, abs=1e-4)
    assert kad(_column(0, 1), _column(0, 1), paired=False) == pytest.approx(-39.3469, abs=1e-4)
    assert kad(_column(0, 1), _column(0, 1)) == 0.0
    assert kad_compat(_column(0, 1), _column(0, 1)) == 0.0
    squares = [mean_squared_difference(np.zeros((3, 2)), np.full((3, 2), value)) for value in (0.1, 5.0)]
    assert np.mean(squares) == pytest.approx(12.505)


@pytest.mark.parametrize(("frames", "dimensions"), [(200, 12), (9, 9), (40, 3)])
def test_fad_is_that_of_the_root_of_a_matrix(frames: int, dimensions: int) -> None:
    """The sum of singular values is the trace of scipy's root of the product of the covariances."""
    one, two = _drawn(1, frames, dimensions)
    covariances = [np.atleast_2d(np.cov(part, rowvar=False)) for part in (one, two)]
    root = np.real(np.trace(sqrtm(covariances[0] @ covariances[1])))
    apart = one.mean(axis=0) - two.mean(axis=0)
    expected = apart @ apart + np.trace(covariances[0]) + np.trace(covariances[1]) - 2 * root
    assert fad(one, two) == pytest.approx(expected, rel=1e-6)


def test_fad_below_full_rank_does_not_depend_on_empty_dimensions() -> None:
    """Dimensions in which nothing moves add nothing, although the covariances become singular."""
    one, two = _drawn(2, 12, 5)
    widened = [np.hstack([part, np.zeros((12, 30))]) for part in (one, two)]
    assert fad(*widened) == pytest.approx(fad(one, two), rel=1e-12)


def test_fad_takes_sets_of_different_lengths() -> None:
    """A set twice over has a slightly smaller covariance, and nothing else."""
    one, two = _drawn(3, 50, 4)
    twice = np.vstack([two, two])
    # the same mean; a covariance over n - 1 that is smaller by 2 (n - 1) / (2 n - 1)
    assert fad(two, twice) == pytest.approx(np.trace(np.cov(two.T)) * (1 - np.sqrt(98 / 99)) ** 2)
    assert fad(one, twice) > 0


@pytest.mark.parametrize("kernel", ["gaussian", "inverse_quadratic", "inverse_multiquadric"])
def test_kad_is_the_sum_over_pairs(kernel: Kernel) -> None:
    """Every kernel is that of scipy's distances, and the median that of pdist."""
    one, two = _drawn(4, 30, 6)
    width = float(np.median(pdist(one)))

    def table(left: Floats, right: Floats) -> Floats:
        scaled = cdist(left, right) ** 2 / (2 * width**2 + 1e-8)
        whole = {"gaussian": np.exp(-scaled), "inverse_quadratic": 1 / (1 + scaled)}
        return np.asarray(whole.get(kernel, (1 + scaled) ** -0.5))

    apart = ~np.eye(30, dtype=bool)
    within = table(one, one)[apart].mean() + table(two, two)[apart].mean()
    across = table(one, two)
    assert kad(one, two, kernel) == pytest.approx(100 * (within - 2 * across[apart].mean()))
    assert kad(one, two, kernel, paired=False) == pytest.approx(100 * (within - 2 * across.mean()))


def test_the_compatible_form_takes_the_bandwidth_of_the_other_set_and_ends_at_zero() -> None:
    """The sides change places, and chance below 0 is cut."""
    one, two = _drawn(5, 40, 3)
    assert kad_compat(one, two) == pytest.approx(max(0.0, kad(two, one, paired=False)))
    assert kad(one, one + 1e-9, paired=False) < 0 == kad_compat(one, one + 1e-9)


@pytest.mark.parametrize("frames", [2, 3, 4, 50, 51, 1100])
def test_the_bandwidth_is_the_median_distance(frames: int) -> None:
    """Blocks of distances give the median of all pairs, for even and odd numbers of them."""
    points = np.random.default_rng(frames).normal(size=(frames, 3))
    assert median_distance(points) == pytest.approx(float(np.median(pdist(points))), rel=1e-12)


def test_too_few_frames_have_no_distance() -> None:
    """One frame has neither covariance nor neighbour; other shapes have no difference."""
    one = np.ones((1, 3))
    assert np.isnan([fad(one, one), kad(one, one), kad_compat(one, one), median_distance(one)]).all()
    assert np.isnan(mean_squared_difference(one, np.ones((2, 3))))
    assert np.isnan(mean_squared_difference(np.ones((0, 3)), np.ones((0, 3))))


def test_an_unknown_kernel_is_refused() -> None:
    """The error names the kernels."""
    with pytest.raises(ValueError, match="expected one of the kernels gaussian"):
        similarities(_column(0, 1), _column(0, 1), 1.0, "cubic")  # type: ignore[arg-type] -- that is the test


shapes = st.tuples(st.integers(0, 2**16), st.integers(2, 25), st.integers(1, 12))


@given(shapes, st.floats(0.1, 10))
@examples(25)
def test_laws_of_fad(shape: tuple[int, int, int], scale: float) -> None:
    """Shift, scale, rotation, order and exchange of the sets."""
    seed, frames, dimensions = shape
    one, two = _drawn(seed, frames, dimensions)
    stream = np.random.default_rng(seed)
    shift = stream.normal(size=dimensions)
    size = np.trace(np.atleast_2d(np.cov(one.T))) + one.mean(axis=0) @ one.mean(axis=0)
    assert fad(one, one) == 0
    assert_allclose(fad(one, one + shift), shift @ shift, rtol=1e-9, atol=1e-9 * size)
    assert_allclose(fad(one, scale * one), (1 - scale) ** 2 * size, rtol=1e-9, atol=1e-9 * size)
    rotation, _ = np.linalg.qr(stream.normal(size=(dimensions, dimensions)))
    order = stream.permutation(frames)
    for other in (fad(one @ rotation, two @ rotation), fad(one[order], two[order]), fad(two, one)):
        assert_allclose(other, fad(one, two), rtol=1e-9, atol=1e-9 * size)


@given(shapes, st.floats(0.1, 10))
@examples(25)
def test_laws_of_kad(shape: tuple[int, int, int], scale: float) -> None:
    """Shift, scale, rotation and order change nothing; a set has no distance from itself."""
    seed, frames, dimensions = shape
    one, two = _drawn(seed, frames, dimensions)
    stream = np.random.default_rng(seed)
    shift = stream.normal(size=dimensions)
    rotation, _ = np.linalg.qr(stream.normal(size=(dimensions, dimensions)))
    order = stream.permutation(frames)
    assert kad(one, one) == 0
    moved = [
        kad(one + shift, two + shift),
        kad(one @ rotation, two @ rotation),
        kad(one[order], two[order]),
        kad(100 * scale * one, 100 * scale * two),
    ]
    # 1e-8 beside twice the squared bandwidth is all that knows a scale
    assert_allclose(moved, kad(one, two), rtol=1e-4, atol=1e-4)
