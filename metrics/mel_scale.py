"""Triangular mel filters on Slaney's scale with area normalisation, stored without their zeros.

The scale is linear below 1 kHz (200/3 Hz per mel) and logarithmic above (27 mel for each factor of 6.4); the triangles
of neighbouring bands meet at their peaks, and each is scaled to the same area. From M. Slaney's Auditory Toolbox
(1998).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

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


def hz_to_mel(hz: NDArray[np.float64]) -> NDArray[np.float64]:
    """Map frequencies in Hz to Slaney's mel; 1000 Hz is 15 mel."""
    return np.where(hz < _KNEE_HZ, hz / _HZ_PER_MEL, _KNEE_MEL + np.log(np.maximum(hz, 1.0) / _KNEE_HZ) / _LOG_STEP)


def mel_to_hz(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    """Map Slaney's mel to frequencies in Hz, the inverse of :func:`hz_to_mel`."""
    return np.where(mel < _KNEE_MEL, mel * _HZ_PER_MEL, _KNEE_HZ * np.exp(_LOG_STEP * (mel - _KNEE_MEL)))


def mel_filters(rate: int, window: int, bands: int) -> NDArray[np.float64]:
    """Return the filters from 0 Hz to half of ``rate`` as a matrix of shape ``(bands, window // 2 + 1)``."""
    return triangles(mel_edges(rate / 2.0, bands), np.linspace(0.0, rate / 2.0, window // 2 + 1))


def mel_edges(highest: float, bands: int) -> NDArray[np.float64]:
    """Return the corners in Hz of ``bands`` triangles from 0 Hz to ``highest``, shape ``(bands + 2,)``."""
    return mel_to_hz(np.linspace(0.0, hz_to_mel(np.array(highest)), bands + 2))


def triangles(edges: NDArray[np.float64], bins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return triangles of equal area with corners ``edges``, sampled at the frequencies ``bins``, all in Hz."""
    width = np.diff(edges)
    rising = (bins[None, :] - edges[:-2, None]) / width[:-1, None]
    falling = (edges[2:, None] - bins[None, :]) / width[1:, None]
    area = 2.0 / (edges[2:] - edges[:-2])
    return np.maximum(0.0, np.minimum(rising, falling)) * area[:, None]


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
