"""Random numbers of conditions: from the raw output of PCG64, whose stream numpy guarantees (NEP 19)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codec_superb.pipeline.statistics.bootstrap import SEED, random_stream

Floats = NDArray[np.float64]


def stream(kind: str, clip: str) -> np.random.PCG64:
    """Return the generator of a kind of condition on a clip: the same for every codec and strength."""
    return random_stream(SEED, "condition", kind, clip)


def uniform(bits: np.random.PCG64, count: int) -> Floats:
    """Draw ``count`` numbers in [0, 1), multiples of 2**-53."""
    raw = np.asarray(bits.random_raw(count), dtype=np.uint64)
    return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53


def gaussian(bits: np.random.PCG64, count: int) -> Floats:
    """Draw ``count`` numbers of mean 0 and variance 1, by the transform of Box and Muller (1958)."""
    pairs = uniform(bits, 2 * -(-count // 2)).reshape(-1, 2)
    radius, angle = np.sqrt(-2.0 * np.log1p(-pairs[:, 0])), 2.0 * np.pi * pairs[:, 1]
    drawn: Floats = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).ravel()[:count]
    return drawn
