"""Autocorrelations of windowed frames, eight side by side in double precision.

A power spectrum is even, so that its transform back is one of half its length: see ``fold_power``. With that, the
transform of PESQ (see :mod:`codec_superb.metrics.p862.arithmetic.fast_fft`) serves both ways. In single precision it
would be twice as fast; but warping chooses between contours that are nearly equal, where rounding shows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled
from codec_superb.metrics.p862.arithmetic.exact_fft import per_thread, reversed_bits
from codec_superb.metrics.p862.arithmetic.fast_fft import finish, first_quarter
from codec_superb.metrics.p862.arithmetic.rows import WIDE_LANES as LANES
from codec_superb.metrics.praat.vector import fold_power, load_frames, transpose_tile, two_lags

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]

_TILE = LANES * LANES


class Workspace(NamedTuple):
    """Tables and room for the correlations of eight frames, with a transform of ``4 * quarter`` samples."""

    quarter: int
    twiddle_factors: tuple[Reals, Reals]
    """Cosines and sines of the blocks, in the order of the blocks."""
    twists: tuple[Reals, Reals]
    """Cosines and sines of the bins."""
    weights: Reals
    """Of each bin in lag 1."""
    places: Integers
    back_places: Integers
    """Where the transforms, there and back, leave bin k."""
    room: Reals
    """Real and imaginary parts there."""
    back: Reals
    """The same of the way back, half as long."""
    lags: Reals
    starts: Integers
    means: Reals


@per_thread
def workspace(length: int) -> Workspace:
    """Return the calling thread's workspace for transforms of ``length`` samples, a power of two."""
    half = length // 2
    blocks = np.pi * reversed_bits(half // 2) / (half // 2)
    bins = np.pi * np.arange(half + 1) / half
    weights = 2.0 * np.cos(bins)
    weights[0] = 1.0
    return Workspace(
        quarter=length // 4,
        twiddle_factors=(np.cos(blocks), np.sin(blocks)),
        twists=(np.cos(bins), np.sin(bins)),
        weights=weights,
        places=reversed_bits(half),
        back_places=reversed_bits(half // 2),
        # a little longer, so that they do not compete for the same places of the processor's cache
        room=np.empty((2, LANES * (half + 5))),
        back=np.empty((2, LANES * (half // 2 + 5))),
        lags=np.empty(LANES * (length // 2 + 2 * LANES)),
        starts=np.empty(LANES, np.int64),
        means=np.empty(LANES),
    )


@compiled(error_model="numpy", fastmath={"contract", "reassoc"})
def levels(samples: Reals, left: Integers, taper: Reals, period: int) -> tuple[Reals, Reals]:
    """Return the local mean of each frame, and the largest magnitude near its centre under the ``taper``."""
    half, reach = taper.size // 2, period // 2 + 1
    first, last = max(0, half - reach), min(taper.size, half + reach)
    near = taper[first:last]
    means, largest = np.empty(left.size), np.empty(left.size)
    for frame in range(left.size):
        right = left[frame] + 1
        # Praat's local mean: one longest period to either side of the centre, not the whole window
        around = samples[right - period : right + period]
        mean = 0.0
        for k in range(around.size):
            mean += around[k]
        mean /= around.size
        # Praat's local peak: half a longest period to either side of the centre
        under = samples[right - half + first : right - half + last]
        level = 0.0
        for k in range(near.size):
            level = max(level, abs((under[k] - mean) * near[k]))
        means[frame], largest[frame] = mean, level
    return means, largest


@compiled(error_model="numpy")
def correlate(samples: Reals, taper: Reals, unwindow: Reals, at: Workspace, margin: int, out: Reals) -> None:
    """Fill each row of ``out``, shape ``(8, …)``, with the corrected correlations of the frame at ``at.starts``.

    Lag 0 stands at ``margin``, and lags are mirrored before it. ``samples`` go on for eight more than the last frame,
    and ``taper`` is a multiple of eight with zeros at its end. Rows of empty frames are zero.
    """
    half, quarter = 2 * at.quarter, at.quarter
    re, im = at.room[0], at.room[1]
    cosines, sines = at.twists
    for k in range(0, taper.size, LANES):
        load_frames(samples, at.starts, at.means, taper, re, im, k)
    re[taper.size // 2 * LANES : half * LANES] = 0.0
    im[taper.size // 2 * LANES : half * LANES] = 0.0
    for i in range(half // 4):
        first_quarter(re, im, i * LANES, half // 4 * LANES)
    finish(re, im, half, at.twiddle_factors[0], at.twiddle_factors[1])
    lags, places = at.lags, at.places
    lags[:LANES] = 0.0
    for k in range(quarter + 1):
        mirror = half - k
        to = at.back[k % 2]
        at_k, at_mirror = places[k] * LANES, places[mirror % half] * LANES
        fold_power(
            re, im, cosines, sines, at.weights, to, lags, k, at_k, at_mirror, k // 2 * LANES, mirror // 2 * LANES
        )
    _back(at, unwindow.size)
    for lag in range(0, unwindow.size, LANES):
        transpose_tile(lags, out.reshape(-1), (lag + 1) * LANES, margin + lag, out.shape[1])
    for lane in range(LANES):
        row = out[lane]
        values, energy = row[margin : margin + unwindow.size], row[margin]
        scale = 1.0 / energy if energy > 0.0 else 0.0
        for lag in range(values.size):
            # Boersma 1993: the correlation of the signal is about that of the windowed signal over that of the window;
            # without the division long lags look weak
            values[lag] *= unwindow[lag] * scale
        row[margin + values.size :] = 0.0
        for lag in range(1, margin + 1):
            row[margin - lag] = row[margin + lag]


@compiled(error_model="numpy")
def _back(at: Workspace, lags: int) -> None:
    """Transform the folded powers: rows of ``at.lags`` become the lags from -1 on, all with the same factor."""
    quarter, places = at.quarter, at.back_places
    re, im = at.back[0], at.back[1]
    for i in range(quarter // 4):
        first_quarter(re, im, i * LANES, quarter // 4 * LANES)
    finish(re, im, quarter, at.twiddle_factors[0], at.twiddle_factors[1])
    for k in range((lags + 1) // 2):
        at_k, at_mirror = places[k] * LANES, places[(quarter - k) % quarter] * LANES
        two_lags(re, im, at.twists[0], at.twists[1], at.lags, 2 * k, at_k, at_mirror, 2 * k * LANES)
