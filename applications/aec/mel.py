"""Framing and mel filter banks in numpy: what the input of each sound-event model is made of.

The models differ in scale, in where a triangle is straight, and in its height; each was trained with its own, and
another one costs accuracy without any error. The HTK scale is that of Young et al., The HTK Book; Slaney's is in
:mod:`codec_superb.metrics.mel_scale`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def htk_mel(hertz: Floats) -> Floats:
    """Return mels on the HTK scale, ``1127 ln(1 + f / 700)``; 1000 Hz is 999.99 mel."""
    return 1127.0 * np.log1p(hertz / 700.0)


def triangles(edges: Floats, points: Floats) -> Floats:
    """Return triangles of height 1 over ``points``, shape ``(points, bands)``, from ``bands + 2`` rising ``edges``.

    Edges and points are both in Hz or both in mel: a triangle is straight on that axis.
    """
    left, middle, right = edges[:-2], edges[1:-1], edges[2:]
    rising = (points[:, None] - left) / (middle - left)
    falling = (right - points[:, None]) / (right - middle)
    return np.maximum(0.0, np.minimum(rising, falling))


def mel_edges(bands: int, low: float, high: float, to_mel: Callable[[Floats], Floats] = htk_mel) -> Floats:
    """Return the ``bands + 2`` edges, in mel, of bands of equal width in mel between two frequencies in Hz."""
    ends = to_mel(np.array([low, high]))
    return np.asarray(np.linspace(ends[0], ends[1], bands + 2), np.float64)


def bin_hertz(fft_length: int, rate: int) -> Floats:
    """Return the frequency in Hz of each bin of a real Fourier transform, shape ``(fft_length // 2 + 1,)``."""
    return np.arange(fft_length // 2 + 1, dtype=np.float64) * (rate / fft_length)


def frame(samples: NDArray[np.floating], length: int, hop: int) -> Floats:
    """Cut ``(samples,)`` into whole frames, shape ``(frames, length)``, float64; what is left at the end is dropped."""
    if samples.size < length:
        return np.zeros((0, length))
    windows = np.lib.stride_tricks.sliding_window_view(samples, length)
    return windows[::hop].astype(np.float64)


def periodic_hann(length: int) -> Floats:
    """Return the Hann window whose next sample would begin its next period."""
    return 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(length) / length)
