"""Turns for costly computations: one at a time, and few that wait."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TypeVar

from codec_superb.server.errors import Unavailable

_T = TypeVar("_T")


class Turns:
    """One computation at a time; whoever waits has one of a few places, since it has a thread that all pages share."""

    def __init__(self, places: int, busy: str) -> None:
        """At most ``places`` compute or wait; ``busy`` tells the next one what is going on."""
        self._places, self._busy = places, busy
        self._counting, self._turn = Lock(), Lock()

    def take(self, make: Callable[[], _T]) -> _T:
        """Make something in turn. Raises Unavailable where too many wait already."""
        with self._counting:
            if not self._places:
                raise Unavailable(f"{self._busy}; ask again in a few seconds", headers={"Retry-After": "5"})
            self._places -= 1
        try:
            with self._turn:
                return make()
        finally:
            with self._counting:
                self._places += 1

    def full(self) -> bool:
        """Whether nobody else may wait."""
        return self._places == 0
