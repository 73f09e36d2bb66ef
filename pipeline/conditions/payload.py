"""Conditions of the payload between encoder and decoder: lost packets and inverted bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.noise.random_numbers import Floats, uniform

HALF_S = 0.02
"""Two moments so far apart are correlated by 1/2."""
_BLOCK = 1 << 22
"""Random numbers at a time."""


def lost_at(bits: np.random.PCG64, share: float, times: Floats) -> NDArray[np.bool_]:
    """Return which of ``times`` (seconds, ascending) fall into the bad state, which takes ``share`` of all time.

    A Gilbert channel in continuous time: both states last for exponentially distributed times, and the correlation of
    two moments ``t`` apart is ``2 ** (-t / 20 ms)``.
    """
    leaving = np.log(2) / HALF_S * np.array([share, 1 - share])  # rates of leaving the good state, the bad one
    bad = bool(uniform(bits, 1)[0] < share)
    ends: list[Floats] = []
    now = 0.0
    while not ends or now <= times[-1]:
        stays = -np.log1p(-uniform(bits, 256)).reshape(-1, 2) / leaving[[int(bad), int(not bad)]]
        ends.append(now + np.cumsum(stays.ravel()))
        now = float(ends[-1][-1])
    passed = np.searchsorted(np.concatenate(ends), times, side="right")
    lost: NDArray[np.bool_] = (passed % 2 == 1) ^ bad
    return lost


def inverted(bits: np.random.PCG64, payload: bytes, share: float) -> bytes:
    """Invert each bit with the probability ``share``."""
    data = np.frombuffer(payload, dtype=np.uint8)
    return (data ^ np.packbits(_flips(bits, 8 * data.size, share))).tobytes()


def inverted_tokens(
    bits: np.random.PCG64, tokens: NDArray[np.integer[Any]], sizes: tuple[int, ...], share: float
) -> NDArray[np.integer[Any]]:
    """Invert each bit of the binary index of ``(codebooks, frames)`` tokens with the probability ``share``.

    ``sizes`` are the entries of each codebook; an index beyond them is taken modulo the size.
    """
    damaged = tokens.copy()
    for row, size in zip(damaged, sizes, strict=True):
        width = max(1, (size - 1).bit_length())
        flips = _flips(bits, width * row.size, share).reshape(row.size, width)
        row[:] = (row.astype(np.int64) ^ flips @ (1 << np.arange(width, dtype=np.int64))) % size
    return damaged


def _flips(bits: np.random.PCG64, count: int, share: float) -> NDArray[np.bool_]:
    flips = np.empty(count, dtype=np.bool_)
    for start in range(0, count, _BLOCK):
        part = flips[start : start + _BLOCK]
        part[:] = uniform(bits, part.size) < share
    return flips
