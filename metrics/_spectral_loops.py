"""Compiled loops of the spectral distances: magnitudes, mel bands and differences without intermediate arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled

FLOOR = np.float32(1e-5)
"""Magnitudes below count as this in the logarithm."""


@compiled(error_model="numpy", fastmath={"contract"})
def magnitudes(spectra: NDArray[np.complex64]) -> NDArray[np.float32]:
    """Return the absolute values of ``spectra``, shape ``(frames, bins)``."""
    frames, bins = spectra.shape
    out = np.empty((frames, bins), np.float32)
    for frame in range(frames):
        for k in range(bins):
            value = spectra[frame, k]
            out[frame, k] = np.sqrt(value.real * value.real + value.imag * value.imag)
    return out


@compiled(error_model="numpy", fastmath={"contract", "reassoc"})
def mel_bands(
    magnitude: NDArray[np.float32], first: NDArray[np.int64], weights: NDArray[np.float32], offsets: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return the weighted sums of each band, shape ``(frames, bands)``."""
    frames, bands = magnitude.shape[0], first.size
    out = np.empty((frames, bands), np.float32)
    for frame in range(frames):
        row = magnitude[frame]
        for band in range(bands):
            total = np.float32(0.0)
            start, shift = offsets[band], first[band] - offsets[band]
            for k in range(start, offsets[band + 1]):
                total += weights[k] * row[k + shift]
            out[frame, band] = total
    return out


@compiled(error_model="numpy", fastmath={"contract", "reassoc"})
def difference_sums(first: NDArray[np.float32], second: NDArray[np.float32], ratio: NDArray[np.float32]) -> float:
    """Return the sum of absolute differences and fill ``ratio`` with the quotients of the floored values."""
    total = 0.0
    for frame in range(first.shape[0]):
        # a frame in single precision, which vectorises; the frames in double, so that long clips do not lose digits
        part = np.float32(0.0)
        for k in range(first.shape[1]):
            a, b = first[frame, k], second[frame, k]
            part += abs(a - b)
            # |log a - log b| is |log(a / b)|: one logarithm, taken by the caller over the whole array
            ratio[frame, k] = max(a, FLOOR) / max(b, FLOOR)
        total += float(part)
    return total
