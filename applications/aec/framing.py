"""Cuts a clip into short frames and gives the frequencies of their Fourier transform, for the inputs of models."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def bin_hertz(fft_length: int, rate: int) -> Floats:
    """Return the frequency in Hz of each bin of a real Fourier transform, shape ``(fft_length // 2 + 1,)``."""
    return np.arange(fft_length // 2 + 1, dtype=np.float64) * (rate / fft_length)


def frame(samples: NDArray[np.floating], length: int, hop: int) -> Floats:
    """Cut ``(samples,)`` into whole frames, shape ``(frames, length)``, float64; what is left at the end is dropped."""
    if samples.size < length:
        return np.zeros((0, length))
    windows = np.lib.stride_tricks.sliding_window_view(samples, length)
    return windows[::hop].astype(np.float64)
