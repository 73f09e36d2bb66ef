"""Time warping finds, cell by cell, the paths of the packages fastdtw and librosa."""

from __future__ import annotations

import fastdtw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.librosa_uncompiled import librosa
from support.profile import amount, examples

from codec_superb.metrics import warping
from codec_superb.metrics.warping import exact_correlation, fast_path

WALKS = [(n, m, seed) for seed, (n, m) in enumerate([(1, 1), (2, 7), (3, 3), (5, 4), (31, 32), (64, 64), (90, 57)])]
SMALL = arrays(np.float64, st.integers(1, 24), elements=st.integers(-3, 3).map(float))


def walk(frames: int, seed: int) -> np.ndarray:
    """Return a random walk, like a contour."""
    return np.random.default_rng(seed).standard_normal(frames).cumsum()


@pytest.mark.sample(6)
@pytest.mark.parametrize(("n", "m", "seed"), WALKS)
@pytest.mark.parametrize("radius", [1, 2])
def test_fast_path_equals_the_package(n: int, m: int, seed: int, radius: int) -> None:
    """Cost and path are those of fastdtw with the same radius."""
    x, y = walk(n, seed), walk(m, seed + 50)
    expected_cost, expected_path = fastdtw.fastdtw(x, y, radius=radius)
    cost, path = fast_path(x, y, radius)
    assert cost == pytest.approx(expected_cost, rel=1e-12, abs=1e-12)
    assert [tuple(step) for step in path.tolist()] == expected_path


@examples(60)
@given(SMALL, SMALL)
def test_fast_path_breaks_ties_like_the_package(x: np.ndarray, y: np.ndarray) -> None:
    """Where several paths cost the same, as between whole numbers, the choice is the package's."""
    expected_cost, expected_path = fastdtw.fastdtw(x, y)
    cost, path = fast_path(x, y)
    assert cost == expected_cost
    assert [tuple(step) for step in path.tolist()] == expected_path


def drawn(seed: int, grid: float) -> tuple[np.ndarray, np.ndarray]:
    """Return two contours of whole steps of ``grid``, one at times above the other: many paths cost about the same."""
    random = np.random.default_rng(seed)
    offset = random.choice([0.0, 0.1, 5.0, 20.0])
    first, second = (np.round(random.normal(0.0, 10.0, n)) * grid for n in random.integers(4, 60, 2))
    return first, second + offset


@pytest.mark.parametrize("grid", [0.1, 1.0, 100 / 3])
def test_fast_path_rounds_like_the_package(grid: float) -> None:
    """On hundreds of contours, where rounding makes costs equal or unequal, cost and path are the package's.

    The package compares costs with the step added. A comparison without it parts from it on one pair in a hundred.
    """
    for seed in range(amount(200, 1000)):
        x, y = drawn(seed, grid)
        expected_cost, expected_path = fastdtw.fastdtw(x, y)
        cost, path = fast_path(x, y)
        assert cost == expected_cost, seed
        assert [tuple(step) for step in path.tolist()] == expected_path, seed


def librosa_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Return Pearson's correlation along librosa's exact path."""
    _, path = librosa.sequence.dtw(x[None], y[None])
    return float(np.corrcoef(x[path[:, 0]], y[path[:, 1]])[0, 1])


@pytest.mark.parametrize(("n", "m", "seed"), WALKS[3:])
def test_exact_correlation_equals_librosa(n: int, m: int, seed: int) -> None:
    """The correlation is that along the exact path of librosa."""
    x, y = walk(n, seed), walk(m, seed + 50)
    assert exact_correlation(x, y) == pytest.approx(librosa_correlation(x, y), abs=1e-9)


@examples(60)
@given(SMALL, SMALL)
def test_exact_correlation_breaks_ties_like_librosa(x: np.ndarray, y: np.ndarray) -> None:
    """Where several paths cost the same the choice is librosa's; without variance there is no correlation."""
    if np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        assert np.isnan(exact_correlation(x, y))
    else:
        assert exact_correlation(x, y) == pytest.approx(librosa_correlation(x, y), abs=1e-9)


@pytest.mark.sample(2)
@pytest.mark.parametrize(("n", "m", "seed"), [*WALKS[3:], (300, 211, 9)])
def test_long_contours_are_warped_alike_in_little_memory(
    n: int, m: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contours too long to keep every move give the same correlation, ties included."""
    for x, y in ((walk(n, seed), walk(m, seed + 50)), (walk(n, seed).round(), walk(m, seed + 50).round())):
        expected = exact_correlation(x, y)
        with monkeypatch.context() as patch:
            patch.setattr(warping, "_MOST_MOVES", 0)
            assert exact_correlation(x, y) == pytest.approx(expected, abs=1e-9, nan_ok=True)
