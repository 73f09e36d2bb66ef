"""Keeps finished answers in memory, and lets many who ask for the same one wait for a single computation."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar, cast

from fastapi import Request

_Answer = TypeVar("_Answer")


class SingleFlightCache:
    """The answers asked for last, by a key that names everything they depend on: none ever becomes wrong."""

    def __init__(self, most: int) -> None:
        """Keep at most ``most`` answers."""
        self._most = most
        self._answers: OrderedDict[Hashable, Any] = OrderedDict()
        self._running: dict[Hashable, Lock] = {}
        self._lock = Lock()

    def __contains__(self, key: Hashable) -> bool:
        """Tell whether the answer is there; it may be gone a moment later."""
        with self._lock:
            return key in self._answers

    def get(self, key: Hashable, make: Callable[[], _Answer]) -> _Answer:
        """Return the answer, made by ``make`` where it is not there; what ``make`` raises is kept by nobody."""
        with self._lock:
            if key in self._answers:
                return cast("_Answer", self._found(key))
            running = self._running.setdefault(key, Lock())
        with running:
            with self._lock:
                if key in self._answers:  # made while we waited
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
        """Return an answer that is there, with the lock held."""
        self._answers.move_to_end(key)
        return self._answers[key]


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
