"""Compiled loops of the spectral distances: magnitudes, mel bands and differences, sixteen frames side by side.

Frames come in groups of sixteen, whose numbers for one bin are neighbours: a transform in vectors, as PESQ's (see
:mod:`codec_superb.metrics.p862.alignment.frames`), leaves them so, and so do bands and differences take them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled
from codec_superb.metrics.p862.alignment.frames import HalfLengthWorkspace, quick_spectra
from codec_superb.metrics.p862.arithmetic.fast_fft import magnitude, weighted_sum
from codec_superb.metrics.p862.arithmetic.rows import LANES

Singles = NDArray[np.float32]
Integers = NDArray[np.int64]

FLOOR = np.float32(1e-5)
"""Magnitudes below count as this in the logarithm."""


@compiled(error_model="numpy")
def magnitudes(signal: Singles, start: int, frames: int, taper: Singles, at: HalfLengthWorkspace) -> Singles:
    """Return the spectra's magnitudes, shape ``(groups, bins, 16)``; 0 where the last group has no frame.

    Frame k begins at sample ``start + k * hop`` of ``signal``; the hop is a quarter of the ``taper``.
    """
    half, hop = taper.size // 2, taper.size // 4
    groups = (frames + LANES - 1) // LANES
    out = np.empty((groups, half + 1, LANES), np.float32)
    re, im, places = at.room[0], at.room[1], at.places
    cosines, sines = at.twists
    for group in range(groups):
        first = group * LANES
        count = min(LANES, frames - first)
        quick_spectra(signal, start + first * hop, count, taper, re, im, at)
        rows = out[group].reshape(-1)
        for k in range(half // 2 + 1):
            mirror = half - k
            at_k, at_mirror = places[k] * LANES, places[mirror % half] * LANES
            magnitude(re, im, cosines, sines, rows, k, at_k, at_mirror, k * LANES, mirror * LANES)
        if count < LANES:
            out[group, :, count:] = np.float32(0.0)
    return out


@compiled(error_model="numpy")
def mel_bands(values: Singles, first: Integers, weights: Singles, offsets: Integers) -> Singles:
    """Return the weighted sums of each band, shape ``(groups, bands, 16)``, from :func:`magnitudes`."""
    groups, bands = values.shape[0], first.size
    out = np.empty((groups, bands, LANES), np.float32)
    for group in range(groups):
        rows, sums = values[group].reshape(-1), out[group].reshape(-1)
        for band in range(bands):
            begin = offsets[band]
            weighted_sum(rows, weights, sums, first[band] * LANES, begin, offsets[band + 1] - begin, band * LANES)
    return out


@compiled(error_model="numpy", fastmath={"contract", "reassoc"})
def difference_sums(first: Singles, second: Singles, ratio: Singles) -> float:
    """Return the sum of absolute differences and fill ``ratio`` with the quotients of the floored values."""
    total = 0.0
    for group in range(first.shape[0]):
        a, b, out = first[group].reshape(-1), second[group].reshape(-1), ratio[group].reshape(-1)
        # a group in single precision, which vectorises; the groups in double, so that long clips do not lose digits
        part = np.float32(0.0)
        for k in range(a.size):
            part += abs(a[k] - b[k])
            # |log a - log b| is |log(a / b)|: one logarithm, taken by the caller over the whole array
            out[k] = max(a[k], FLOOR) / max(b[k], FLOOR)
        total += float(part)
    return total


@compiled(error_model="numpy", fastmath={"contract", "reassoc"})
def magnitude_sum(values: Singles) -> float:
    """Return the sum of absolute values, shape ``(groups, rows, 16)``, each group in single precision."""
    total = 0.0
    for group in range(values.shape[0]):
        row = values[group].reshape(-1)
        part = np.float32(0.0)
        for k in range(row.size):
            part += abs(row[k])
        total += float(part)
    return total
