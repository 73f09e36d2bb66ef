"""Moving windows of requests in this process's memory, for the package ``limits``.

Its own storage of this kind (5.8) starts a thread for each request, now and then one that another has started, which
raises, and keeps a counter of each address that ever came.
"""

from __future__ import annotations

import time
from collections import deque
from threading import Lock

from codec_superb.server.people.shared_windows import MovingWindows

_SWEPT = 1000
"""Requests from one removal of counters whose time is over to the next."""


class OwnWindows(MovingWindows):
    """The storage of a :class:`~limits.strategies.MovingWindowRateLimiter` where one process counts for itself."""

    def __init__(self) -> None:
        """Begin with none."""
        super().__init__()
        self._lock = Lock()
        self._hits: dict[str, tuple[int, deque[float]]] = {}
        """Seconds of a counter's window, and when its requests came, the oldest first."""
        self._asked = 0

    def __len__(self) -> int:
        """Return the number of counters."""
        return len(self._hits)

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Count ``amount`` requests unless more than ``limit`` would lie within ``expiry`` seconds; whether it did."""
        with self._lock:
            self._asked += 1
            if self._asked % _SWEPT == 0:
                self._sweep()
            times = self._within(key, expiry)
            if len(times) + amount > limit:
                return False
            times.extend([time.monotonic()] * amount)
            self._hits[key] = expiry, times
            return True

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:  # noqa: ARG002 - of ``limits``
        """Return when the oldest request of the window came, in seconds of Unix time, and their number."""
        with self._lock:
            times = self._within(key, expiry)
            # a clock that is set back moves no window: what is told is of this moment
            return time.time() - (time.monotonic() - times[0] if times else 0.0), len(times)

    @property
    def base_exceptions(self) -> type[Exception]:
        """Nothing that memory raises."""
        return ValueError

    def check(self) -> bool:
        """Return whether it can count: always."""
        return True

    def clear(self, key: str) -> None:
        """Forget one counter."""
        with self._lock:
            self._hits.pop(key, None)

    def reset(self) -> int:
        """Forget all; return how many requests they had counted."""
        with self._lock:
            counted = sum(len(times) for _, times in self._hits.values())
            self._hits.clear()
            return counted

    def _within(self, key: str, expiry: int) -> deque[float]:
        _, times = self._hits.get(key, (expiry, deque[float]()))
        begun = time.monotonic() - expiry
        while times and times[0] < begun:
            times.popleft()
        return times

    def _sweep(self) -> None:
        now = time.monotonic()
        over = [key for key, (expiry, times) in self._hits.items() if not times or times[-1] < now - expiry]
        for key in over:
            del self._hits[key]
