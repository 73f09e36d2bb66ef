"""LRU cache of answers with single-flight computation: concurrent requests for one key wait for one computation."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar, cast

from fastapi import Request

_Answer = TypeVar("_Answer")


class SingleFlightCache:
    """The most recently used answers; a key must name everything that its answer depends on, so none gets outdated."""

    def __init__(self, most: int) -> None:
        """Keep at most ``most`` answers."""
        self._most = most
        self._answers: OrderedDict[Hashable, Any] = OrderedDict()
        self._running: dict[Hashable, Lock] = {}
        self._lock = Lock()

    def __contains__(self, key: Hashable) -> bool:
        """Whether the answer is cached; another thread may evict it at any time."""
        with self._lock:
            return key in self._answers

    def get(self, key: Hashable, make: Callable[[], _Answer]) -> _Answer:
        """Return the cached answer, or compute it with ``make``; exceptions of ``make`` are not cached."""
        with self._lock:
            if key in self._answers:
                return cast("_Answer", self._found(key))
            running = self._running.setdefault(key, Lock())
        with running:
            with self._lock:
                if key in self._answers:  # computed while this thread waited
                    return cast("_Answer", self._found(key))
            try:
                made = make()
                with self._lock:
                    self._answers[key] = made
                    while len(self._answers) > self._most:
                        self._answers.popitem(last=False)
            finally:
                with self._lock:
                    self._running.pop(key, None)
        return made

    def _found(self, key: Hashable) -> Any:
        """Return a cached answer and mark it as recently used; the lock must be held."""
        self._answers.move_to_end(key)
        return self._answers[key]


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
