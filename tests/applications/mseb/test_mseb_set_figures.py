"""Figures of frames with weights: those of the plain distances, of subsets, and of exact leaving out."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.profile import examples

from codec_superb.applications.metric_functions import Evidence, PairedFrames
from codec_superb.applications.mseb import distances, set_figures

Floats = NDArray[np.float64]
FIGURES: dict[str, tuple[Callable[[Evidence, Floats], Floats], Callable[[Floats, Floats], float]]] = {
    name: (getattr(set_figures, name), getattr(distances, name)) for name in ("fad", "kad", "kad_compat")
}


def _evidence(seed: int, frames: int, dimensions: int, clips: int) -> Evidence:
    """Frames of clips that differ, and a distortion that differs from clip to clip."""
    stream = np.random.default_rng(seed)
    numbers = np.sort(stream.integers(0, clips, frames))
    one = stream.normal(size=(frames, dimensions)) + stream.normal(size=(clips, dimensions))[numbers]
    two = 0.8 * one + 0.3 * stream.normal(size=one.shape) + 0.2 * stream.normal(size=(clips, 1))[numbers] + 0.1
    return Evidence({}, frames=PairedFrames(numbers, one, two))


@pytest.mark.parametrize("name", FIGURES)
@given(st.integers(0, 2**16), st.integers(2, 60), st.integers(1, 30), st.integers(1, 8))
@examples(20)
def test_all_clips_once_have_the_plain_distance(name: str, seed: int, frames: int, dimensions: int, clips: int) -> None:
    """The draw of ones is the distance of the sets."""
    given_ = _evidence(seed, frames, dimensions, clips)
    weighted, plain = FIGURES[name]
    expected = plain(given_.frames.reference, given_.frames.side)
    assert weighted(given_, np.ones((1, clips))) == pytest.approx([expected], abs=1e-9)


@pytest.mark.parametrize("name", FIGURES)
def test_identity_is_exactly_zero_in_every_draw(name: str) -> None:
    """A codec that changes nothing has no distance, not a small one."""
    one = _evidence(1, 50, 6, 8).frames
    same = Evidence({}, frames=PairedFrames(one.clips, one.reference, one.reference.copy()))
    weights = np.random.default_rng(0).integers(0, 3, (20, 8)).astype(float)
    assert FIGURES[name][0](same, weights).tolist() == [0.0] * 20


def test_a_draw_of_kad_is_that_of_its_clips_with_the_bandwidth_of_all() -> None:
    """Sums by pairs of clips give the distance of any choice of clips."""
    given_ = _evidence(2, 60, 4, 9)
    frames, chosen = given_.frames, np.array([1, 0, 1, 1, 0, 1, 1, 1, 0], float)
    kept = chosen[frames.clips] > 0
    one, two = frames.reference[kept], frames.side[kept]
    width = distances.median_distance(frames.reference)
    tables = [distances.similarities(*pair, width)[~np.eye(len(one), dtype=bool)] for pair in
              ((one, one), (two, two), (one, two))]  # fmt: skip
    expected = 100 * (tables[0].mean() + tables[1].mean() - 2 * tables[2].mean())
    assert set_figures.kad(given_, chosen[None]) == pytest.approx([expected])


@pytest.mark.parametrize(("frames", "dimensions", "clips"), [(300, 8, 20), (60, 90, 20)])
def test_first_order_draws_of_fad_spread_as_the_exact_ones(frames: int, dimensions: int, clips: int) -> None:
    """Leaving a clip out moves the expansion as it moves the figure, above and below full rank."""
    given_ = _evidence(3, frames, dimensions, clips)
    of, one, two = given_.frames.clips, given_.frames.reference, given_.frames.side
    exact = np.array([distances.fad(one[of != clip], two[of != clip]) for clip in range(clips)])
    linear = set_figures.fad(given_, 1 - np.eye(clips))
    # without one of twenty clips; what is left is the bias by the number of frames, which no draw should have
    assert np.corrcoef(exact, linear)[0, 1] > 0.95
    assert linear.std() == pytest.approx(exact.std(), rel=0.1)


def test_the_slopes_of_fad_are_its_derivative() -> None:
    """A clip that weighs a thousandth more moves the figure as its slope says."""
    given_ = _evidence(4, 40, 5, 4)
    frames, step = given_.frames, 1000
    # every frame a thousand times, of the first clip a thousand and one: a small change of weight, without a weight
    times = np.where(frames.clips == 0, step + 1, step)
    one, two = (np.repeat(part, times, axis=0) for part in (frames.reference, frames.side))
    even = [np.repeat(part, step, axis=0) for part in (frames.reference, frames.side)]
    moved = distances.fad(one, two) - distances.fad(*even)
    weights = np.array([[1.001, 1, 1, 1], [1, 1, 1, 1]])
    found = set_figures.fad(given_, weights)
    # the covariances of repeated frames are smaller by (n - 1) / n
    assert found[0] - found[1] == pytest.approx(moved, rel=0.03)


@pytest.mark.parametrize("name", FIGURES)
def test_draws_without_two_frames_have_no_figure(name: str) -> None:
    """Clips without frames hold none, and one frame is too few."""
    frames = PairedFrames(np.array([0, 2, 2]), np.arange(6.0).reshape(3, 2), np.arange(6.0).reshape(3, 2) ** 2)
    weights = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], float)
    found = FIGURES[name][0](Evidence({}, frames=frames), weights)
    assert np.isnan(found).tolist() == [True, True, False, False]
    assert np.isnan(FIGURES[name][0](Evidence({}), np.ones((2, 3)))).all()


def test_the_distance_is_computed_once() -> None:
    """A bootstrap asks many times."""
    calls = []

    def counted(frames: PairedFrames) -> int:
        calls.append(frames)
        return len(calls)

    frames = _evidence(5, 10, 2, 3).frames
    assert (frames.once(counted), frames.once(counted), len(calls)) == (1, 1, 1)
