"""Keeps finished answers in memory, and lets many who ask for the same one wait for a single computation."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Condition
from typing import Any, TypeVar, cast

from cachetools import LRUCache, cached
from fastapi import Request

_Answer = TypeVar("_Answer")


class SingleFlightCache:
    """The answers asked for last, by a key that names everything they depend on: none ever becomes wrong."""

    def __init__(self, most: int) -> None:
        """Keep at most ``most`` answers."""
        self._answers: LRUCache[Hashable, Any] = LRUCache(most)
        self._lock = Condition()
        # With a condition, `cached` makes a key once while others wait for it, and keeps nothing of what raised.
        self._get = cached(self._answers, key=lambda key, _: key, condition=self._lock)(lambda _, make: make())

    def __len__(self) -> int:
        """Return the number of answers."""
        return len(self._answers)

    def __contains__(self, key: Hashable) -> bool:
        """Tell whether the answer is there; it may be gone a moment later."""
        with self._lock:
            return key in self._answers

    def get(self, key: Hashable, make: Callable[[], _Answer]) -> _Answer:
        """Return the answer, made by ``make`` where it is not there; what ``make`` raises is kept by nobody."""
        return cast("_Answer", self._get(key, make))


_MOST = 400
"""A comparison of two codecs on three datasets takes about 100 kB."""
_SOUNDS = 100
"""Of a megabyte at most, and usually a tenth of it."""


def comparison_cache(request: Request) -> SingleFlightCache:
    """Return the comparisons that this process keeps; made on first use."""
    return _own(request, "kept", _MOST)


def listening_sound_cache(request: Request) -> SingleFlightCache:
    """Return the sounds of listening tests that this process keeps; made on first use."""
    return _own(request, "kept_sounds", _SOUNDS)


def _own(request: Request, name: str, most: int) -> SingleFlightCache:
    state = request.app.state
    if not hasattr(state, name):
        setattr(state, name, SingleFlightCache(most))
    kept: SingleFlightCache = getattr(state, name)
    return kept
