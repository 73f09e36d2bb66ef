"""Whether this machine's numba computes PESQ: compile it, which takes some 20 s on a new machine, and try it.

A pair that is made of whole numbers alone, so that it is the same on every machine, goes through every part of the
measurement; its scores by the standard's own programme are known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import can_be_cached, is_cached
from codec_superb.metrics.p862.aggregation import raw_score
from codec_superb.metrics.p862.api import pesq
from codec_superb.metrics.p862.model import Mode

KNOWN_ANSWERS: dict[Mode, float] = {"wb": 3.0684614181518555, "nb": 2.539144515991211}
"""MOS-LQO of the pair by the package ``pesq`` 0.0.4 (x86-64), exactly: scores are float32 numbers."""
_RATE = 16_000
_LAST = raw_score
"""What a measurement calls last: when this is compiled, all is."""


def is_compiled() -> bool:
    """Whether compiled code is on disk."""
    return is_cached(_LAST)


def is_worth_compiling() -> bool:
    """Whether code that one process compiles will be there for the others."""
    return can_be_cached(_LAST)


def deviation() -> str:
    """Compile and measure the known pair; return where its score is not the known one, '' where it is everywhere.

    Code that is kept on disk is tried like code just compiled. Raises what numba raises where it cannot compile.
    """
    pair = known_pair()
    for mode, expected in KNOWN_ANSWERS.items():
        if (found := pesq(*pair, _RATE, mode)) != expected:
            return f"the MOS-LQO ({mode}) of the built-in pair should be {expected}, and is {found}"
    return ""


def known_pair() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return 3 s of noise in bursts at 16 kHz and what a bad connection makes of it: whole numbers, ``(48000,)``.

    The delay changes by 700 samples halfway, and a quarter of a second is moved and so loud that it is aligned again.
    """
    place = np.arange(3 * _RATE)
    bursts = np.maximum(0, 1000 - np.abs(place % 4000 - 2000))  # four a second, triangular, half of the time
    bursts[(place < _RATE // 5) | (place >= 3 * _RATE - _RATE // 5)] = 0
    reference = _noise(3 * _RATE, seed=862 * _RATE) * bursts // 1000
    middle = 3 * _RATE // 2
    resynthesis = np.concatenate([reference[:middle], np.zeros(700, np.int64), reference[middle:-700]])
    resynthesis[_RATE : _RATE + _RATE // 4] = 4 * reference[_RATE - 700 : _RATE + _RATE // 4 - 700]
    return reference, resynthesis


def _noise(length: int, seed: int) -> NDArray[np.int64]:
    """Return 15-bit noise: numbers in sequence, scrambled by a 32-bit hash.

    numpy may change the streams of its generators from release to release (NEP 19), and sines differ in their last
    bits between machines; products modulo 2³² do neither.
    """
    words = np.arange(length, dtype=np.uint32) + np.uint32(seed)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        words = (words ^ (words >> np.uint32(shift))) * np.uint32(factor)
    words ^= words >> np.uint32(16)
    return words.astype(np.int64) % 32768 - 16384
