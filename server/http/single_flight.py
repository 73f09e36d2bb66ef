"""LRU cache of answers with single-flight computation: concurrent requests for one key wait for one computation."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Condition
from typing import Any, TypeVar, cast

from cachetools import LRUCache, cached
from fastapi import Request

_Answer = TypeVar("_Answer")


class SingleFlightCache:
    """The most recently used answers; a key must name everything that its answer depends on, so none gets outdated."""

    def __init__(self, most: int, size: Callable[[Any], int] | None = None) -> None:
        """Keep at most ``most`` answers; with a ``size`` of each, as many as are ``most`` together."""
        self._answers: LRUCache[Hashable, Any] = LRUCache(most, getsizeof=size)
        self._lock = Condition()
        # With a condition, `cached` makes a key once while others wait for it, and keeps nothing of what raised.
        self._get = cached(self._answers, key=lambda key, _: key, condition=self._lock)(lambda _, make: make())

    def __len__(self) -> int:
        """Return the number of answers."""
        return len(self._answers)

    def __contains__(self, key: Hashable) -> bool:
        """Whether the answer is cached; another thread may evict it at any time."""
        with self._lock:
            return key in self._answers

    def get(self, key: Hashable, make: Callable[[], _Answer]) -> _Answer:
        """Return the answer, made by ``make`` where it is not there; what ``make`` raises is not kept."""
        return cast("_Answer", self._get(key, make))


_MOST = 400
"""Cached comparisons; one of two codecs on three datasets takes about 100 kB."""
_SOUNDS = 100
"""Cached sounds, each of at most a megabyte, typically 100 kB."""


def comparison_cache(request: Request) -> SingleFlightCache:
    """Return this process's cache of comparisons, created on first use."""
    return _own(request, "kept", _MOST)


def listening_sound_cache(request: Request) -> SingleFlightCache:
    """Return this process's cache of listening sounds, created on first use."""
    return _own(request, "kept_sounds", _SOUNDS)


def _own(request: Request, name: str, most: int) -> SingleFlightCache:
    state = request.app.state
    if not hasattr(state, name):
        setattr(state, name, SingleFlightCache(most))
    kept: SingleFlightCache = getattr(state, name)
    return kept
