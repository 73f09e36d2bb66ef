"""Where the lines of a journal begin, by a hash of their clip: 16 bytes a line, and no id is kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

_FEW = 1 << 16
"""Lines that are kept in a dictionary before they join the arrays."""


class LineIndex:
    """Offsets of lines. Two clips may have one hash, so that whoever reads a line compares its clip."""

    def __init__(self) -> None:
        self._hashes: Numbers = np.zeros(0, np.int64)
        """Sorted; lines of one hash in the order in which they came."""
        self._offsets: Numbers = np.zeros(0, np.int64)
        self._new: dict[int, list[int]] = {}
        self._count = 0

    def add(self, clip: str, offset: int) -> None:
        """Add a line behind all others."""
        self._new.setdefault(hash(clip), []).append(offset)
        self._count += 1
        if self._count >= max(_FEW, len(self._hashes) >> 5):  # a fold copies all arrays
            self._fold()

    def places(self, clip: str) -> list[int]:
        """Return the offsets of the lines that may be of ``clip``, oldest first."""
        key = hash(clip)
        first, end = (int(np.searchsorted(self._hashes, key, side)) for side in ("left", "right"))
        return [*self._offsets[first:end].tolist(), *self._new.get(key, ())]

    def places_of(self, clips: Sequence[str]) -> tuple[Numbers, Numbers]:
        """Return the places in ``clips`` and the offsets of their lines, in the order of the clips, oldest first."""
        self._fold()
        keys = _hashes(clips, len(clips))
        first = np.searchsorted(self._hashes, keys, "left")
        counts = np.searchsorted(self._hashes, keys, "right") - first
        which = np.repeat(np.arange(len(keys)), counts)
        # the lines of a clip stand together: the number of each among them, behind their first
        behind = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        return which, self._offsets[first[which] + behind]

    def _fold(self) -> None:
        """Sort what is new into the arrays."""
        if self._new:
            count = self._count
            keys = _numbers((key for key, found in self._new.items() for _ in found), count)
            offsets = _numbers((offset for found in self._new.values() for offset in found), count)
            order = np.lexsort((offsets, keys))
            at = np.searchsorted(self._hashes, keys[order], "right")
            self._hashes = np.insert(self._hashes, at, keys[order])
            self._offsets = np.insert(self._offsets, at, offsets[order])
            self._new, self._count = {}, 0


def _hashes(clips: Iterable[str], count: int) -> Numbers:
    return _numbers(map(hash, clips), count)


def _numbers(values: Iterable[int], count: int) -> Numbers:
    return np.fromiter(values, np.int64, count)
