"""What the views of one network may take of the event loop, before they wait for their turn as other answers do.

A view of the leaderboard is made in the loop itself, in a few milliseconds. Forty a second of ever other filters, from
one address, made every page and upload thirty times as slow.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

WINDOW, SHARE = 10.0, 4.0
"""Seconds, and how many of them the loop makes views for one network. A visitor takes one of a hundredth with each
click; a class of thirty that clicks once in two seconds 1.5 with 10 ms a view."""


class LoopShare:
    """Counts in the process what it has made: others have loops of their own."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._spent: defaultdict[str, float] = defaultdict(float)

    def has_some_left(self, network: str) -> bool:
        """Whether the loop may make another view for a network."""
        if time.monotonic() - self._began > WINDOW:
            self._began = time.monotonic()
            self._spent.clear()
        return self._spent.get(network, 0.0) < SHARE

    @contextmanager
    def spent_by(self, network: str) -> Iterator[None]:
        """Count what is made meanwhile."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._spent[network] += time.perf_counter() - began
