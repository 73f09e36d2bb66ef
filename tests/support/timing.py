"""How tests wait for something, and hold something to a time, on a machine that may be busy with other tests."""

from __future__ import annotations

import time
from collections.abc import Callable

TRIES = 3
PATIENCE_S = 120.0
"""Seconds after which what a test waits for counts as not coming: no machine that still works is as slow."""
PAGE_MS = 30_000.0
"""The same in milliseconds for a page in a browser, which is tried again."""


def wait_for(condition: Callable[[], object], told: str) -> None:
    """Wait until ``condition`` is true; fail with ``told`` when it does not become so."""
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until, told
        time.sleep(0.01)


def quickest(measure: Callable[[], float], limit: float) -> float:
    """Return the first time in seconds that is below ``limit``, else the least of three, as of a machine at rest.

    Other work can only make a try slower, so that one quick try shows what the program needs. What a try took is
    divided by the slowness of the machine before or after it, whichever was greater.
    """
    times: list[float] = []
    while len(times) < TRIES and not (times and times[-1] < limit):
        before = slowness()
        took = measure()
        times.append(took / max(before, slowness()))
    return min(times)


def slowness() -> float:
    """Return how many times longer than its processor time a twentieth of a second of computing takes, at least 1."""
    began, computed = time.perf_counter(), time.process_time()
    while time.process_time() - computed < 0.05:
        sum(range(1000))
    return max(1.0, (time.perf_counter() - began) / (time.process_time() - computed))
