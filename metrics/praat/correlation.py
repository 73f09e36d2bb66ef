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
from codec_superb.metrics.p862.arithmetic import wide
from codec_superb.metrics.p862.arithmetic.exact_fft import per_thread, reversed_bits
from codec_superb.metrics.p862.arithmetic.rows import WIDE_LANES as LANES
from codec_superb.metrics.praat.vector import fold_power, transpose_tile, two_lags

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]


class Workspace(NamedTuple):
    """Tables and room for the correlations of eight frames."""

    there: wide.Workspace
    """Of the spectra."""
    weights: Reals
    """Of each bin in lag 1."""
    places: Integers
    """Where the transform back leaves bin k."""
    back: Reals
    """Real and imaginary parts of it; it is half as long."""
    lags: Reals


@per_thread
def workspace(length: int) -> Workspace:
    """Return the calling thread's workspace for transforms of ``length`` samples, a power of two from 64 on."""
    half = length // 2
    there = wide.workspace(length)
    weights = 2.0 * there.twists[0]
    weights[0] = 1.0
    return Workspace(
        there=there,
        weights=weights,
        places=reversed_bits(half // 2),
        back=np.empty((2, LANES * (half // 2 + 5))),
        lags=np.empty(LANES * (half + 2 * LANES)),
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
    """Fill each row of ``out``, shape ``(8, …)``, with the corrected correlations of a frame of ``at.there``.

    Lag 0 stands at ``margin``, and lags are mirrored before it. ``samples`` and ``taper`` are as
    :func:`codec_superb.metrics.p862.arithmetic.wide.spectra` takes them. Rows of empty frames are zero.
    """
    wide.spectra(samples, taper, at.there)
    half, places, lags = at.there.half, at.there.places, at.lags
    re, im = at.there.room[0], at.there.room[1]
    cosines, sines = at.there.twists
    lags[:LANES] = 0.0
    for k in range(half // 2 + 1):
        mirror = half - k
        at_k, at_mirror, row, other = places[k], places[mirror % half], k // 2, mirror // 2
        fold_power(
            re, im, cosines, sines, at.weights, at.back[k % 2], lags,
            k, at_k * LANES, at_mirror * LANES, row * LANES, other * LANES,
        )  # fmt: skip
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
    re, im, places = at.back[0], at.back[1], at.places
    cosines, sines = at.there.twists
    quarter = places.size
    wide.transform(re, im, quarter, at.there.twiddle_factors)
    for k in range((lags + 1) // 2):
        at_k, at_mirror = places[k] * LANES, places[(quarter - k) % quarter] * LANES
        two_lags(re, im, cosines, sines, at.lags, 2 * k, at_k, at_mirror, 2 * k * LANES)
