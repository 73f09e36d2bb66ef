"""Compile the wide-band measurement ahead of its first use, which takes some 20 s on a new machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import can_be_cached, is_cached
from codec_superb.metrics.p862.aggregation import raw_score
from codec_superb.metrics.p862.api import pesq

_RATE = 16_000
_LAST = raw_score
"""What a measurement calls last: when this is compiled, all is."""


def is_compiled() -> bool:
    """Whether compiled code is on disk."""
    return is_cached(_LAST)


def is_worth_compiling() -> bool:
    """Whether code that one process compiles will be there for the others."""
    return can_be_cached(_LAST)


def compile_ahead() -> None:
    """Measure a pair that goes through every part: changes of delay, and a stretch that is aligned badly."""
    pesq(*_pair(), _RATE)


def _pair() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Three seconds of noise in bursts and what a bad connection makes of it."""
    random = np.random.default_rng(862)
    time = np.arange(3 * _RATE) / _RATE
    bursts = np.clip(np.sin(2 * np.pi * 4 * time), 0, 1) * (np.abs(time - 1.5) < 1.3)  # noqa: PLR2004 - s
    reference = (0.3 * bursts * random.standard_normal(len(time))).astype(np.float32)
    late = np.concatenate([reference[: 3 * _RATE // 2], np.zeros(700, np.float32), reference[3 * _RATE // 2 :]])
    resynthesis = late[: len(reference)].copy()
    resynthesis[_RATE : _RATE + _RATE // 4] += random.standard_normal(_RATE // 4).astype(np.float32)
    return reference, resynthesis
