"""Random numbers by a seed and names: from the raw output of PCG64, whose stream numpy guarantees (NEP 19)."""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SEED: Final = 0


def random_stream(seed: int, *names: str) -> np.random.PCG64:
    """Random generator that depends on the seed and names only, so that adding a dataset changes no other draw."""
    digest = hashlib.sha256("\x1f".join([str(seed), *names]).encode()).digest()
    # 128 bits of seed; numpy promises the streams of bit generators, not those of distributions (NEP 19)
    return np.random.PCG64(int.from_bytes(digest[:16], "little"))


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
