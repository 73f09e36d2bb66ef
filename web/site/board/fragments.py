"""Finished pieces of answers, kept by what they say: a row of the leaderboard is written once, not once a page."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class Fragments(Generic[T]):
    """The most recently used pieces, at most ``limit`` of them; safe in several threads."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        """Return the number of pieces."""
        return len(self._kept)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the piece of ``key``, made now where it is not kept; equal keys must mean equal pieces."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
        made = make()  # outside the lock: two threads may make the same, which does no harm
        with self._lock:
            self._kept[key] = made
            if len(self._kept) > self.limit:
                self._kept.popitem(last=False)
        return made
