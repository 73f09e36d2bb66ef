"""Which frames of a clip are kept: the same on both sides and for every codec, by the clip's id alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

SEED = 0
MOST_FRAMES = 4096
"""Frames of a dataset that are kept at most: distances between all of them take seconds."""
MOST_NUMBERS = 1 << 22
"""Numbers of these frames: 8 MiB of half floats a side; as many frames as dimensions are decomposed in seconds."""


def most_frames(dimensions: int) -> int:
    """Return how many frames of so many numbers are kept of a dataset at most."""
    return max(2, min(MOST_FRAMES, MOST_NUMBERS // dimensions))


def positions(clip: str, frames: int, most: int, seed: int = SEED) -> NDArray[np.int64]:
    """Return at most ``most`` of the positions of a clip's ``frames``, rising; all of them where they are as few."""
    if frames <= most:
        return np.arange(frames)
    order = np.argsort(_stream(clip, seed).random(frames), kind="stable")
    return np.sort(order[:most])


def chosen_clips(clips: Iterable[str], most: int, seed: int = SEED) -> frozenset[str]:
    """Return at most ``most`` clips; one that is chosen stays so when others leave."""
    return frozenset(sorted(clips, key=lambda clip: _digest(clip, seed))[:most])


def _digest(clip: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}\0{clip}".encode()).digest()


def _stream(clip: str, seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(int.from_bytes(_digest(clip, seed)[:16], "little")))
