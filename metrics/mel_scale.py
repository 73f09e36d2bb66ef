"""Mel scales and triangular filters on them, of the mel distance and of the inputs of models.

Slaney's scale (Auditory Toolbox, 1998) is linear below 1 kHz (200/3 Hz per mel) and logarithmic above (27 mel for each
factor of 6.4). The HTK scale is that of Young et al., The HTK Book. The triangles of neighbouring bands meet at their
peaks. Models differ in scale, in the axis on which a triangle is straight, and in its height; each was trained with its
own, and another one costs accuracy without any error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# 1 kHz is 15 mel: 200/3 Hz each below it, and above it 27 for each factor of 6.4
_HZ_PER_MEL = 200.0 / 3.0
_KNEE_HZ = 1000.0
_KNEE_MEL = _KNEE_HZ / _HZ_PER_MEL
_LOG_STEP = np.log(6.4) / 27.0


@dataclass(frozen=True, slots=True)
class MelBank:
    """The filters of one rate and window: band b weighs bins ``first[b]`` and following."""

    first: NDArray[np.int64]
    """First bin of each band, shape ``(bands,)``."""
    offsets: NDArray[np.int64]
    """Band b owns ``weights[offsets[b]:offsets[b + 1]]``, shape ``(bands + 1,)``; a band may be empty."""
    weights: NDArray[np.float32]


def hz_to_mel(hz: Floats) -> Floats:
    """Map frequencies in Hz to Slaney's mel; 1000 Hz is 15 mel."""
    # np.where computes both branches: the maximum keeps the logarithm of 0 Hz from warning
    return np.where(hz < _KNEE_HZ, hz / _HZ_PER_MEL, _KNEE_MEL + np.log(np.maximum(hz, 1.0) / _KNEE_HZ) / _LOG_STEP)


def mel_to_hz(mel: Floats) -> Floats:
    """Map Slaney's mel to frequencies in Hz, the inverse of :func:`hz_to_mel`."""
    return np.where(mel < _KNEE_MEL, mel * _HZ_PER_MEL, _KNEE_HZ * np.exp(_LOG_STEP * (mel - _KNEE_MEL)))


def htk_mel(hertz: Floats) -> Floats:
    """Map frequencies in Hz to HTK's mel, ``1127 ln(1 + f / 700)``; 1000 Hz is 999.99 mel."""
    return 1127.0 * np.log1p(hertz / 700.0)


def mel_edges(bands: int, low: float, high: float, to_mel: Callable[[Floats], Floats] = hz_to_mel) -> Floats:
    """Return the corners, in mel, of bands of equal width in mel between two frequencies in Hz: ``(bands + 2,)``."""
    ends = to_mel(np.array([low, high]))
    return np.asarray(np.linspace(ends[0], ends[1], bands + 2), np.float64)


def triangles(edges: Floats, points: Floats) -> Floats:
    """Return triangles of height 1 with rising corners ``edges``, ``(bands + 2,)``: shape ``(bands, points)``.

    Both are in Hz or both in mel: a triangle is straight on that axis.
    """
    width = np.diff(edges)
    rising = (points[None, :] - edges[:-2, None]) / width[:-1, None]
    falling = (edges[2:, None] - points[None, :]) / width[1:, None]
    return np.maximum(0.0, np.minimum(rising, falling))


def slaney_filters(bands: int, low: float, high: float, bins: Floats) -> Floats:
    """Return Slaney's filters of equal area between two frequencies, at the frequencies ``bins``: ``(bands, bins)``.

    All frequencies are in Hz. As ``librosa.filters.mel`` by default.
    """
    edges = mel_to_hz(mel_edges(bands, low, high))
    # `norm='slaney'` of librosa: 2 over the width in Hz
    return triangles(edges, bins) * (2.0 / (edges[2:] - edges[:-2]))[:, None]


def mel_filters(rate: int, window: int, bands: int) -> Floats:
    """Return Slaney's filters from 0 Hz to half of ``rate`` as a matrix of shape ``(bands, window // 2 + 1)``."""
    return slaney_filters(bands, 0.0, rate / 2.0, np.linspace(0.0, rate / 2.0, window // 2 + 1))


@lru_cache(maxsize=32)
def mel_bank(rate: int, window: int, bands: int) -> MelBank:
    """Return :func:`mel_filters` without the zeros."""
    dense = mel_filters(rate, window, bands)
    used = [np.flatnonzero(row) for row in dense]
    first = np.array([bins[0] if bins.size else 0 for bins in used], dtype=np.int64)
    lengths = [bins[-1] - bins[0] + 1 if bins.size else 0 for bins in used]
    weights = [row[start : start + length] for row, start, length in zip(dense, first, lengths, strict=True)]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return MelBank(first, offsets, np.concatenate(weights).astype(np.float32))
