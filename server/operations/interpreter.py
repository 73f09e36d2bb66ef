"""Tuning of the Python interpreter for the service: thread switch interval and garbage collection."""

from __future__ import annotations

import gc
import sys

SWITCH_SECONDS = 0.0005
"""Seconds for which one thread may hold the GIL while others wait. With CPython's default of 5 ms, which the event loop
waits at each iteration, a request takes ten times as long while a thread stores an upload."""
GC_THRESHOLDS = (5_000, 50, 50)
"""Thresholds of the three generations of CPython's collector (Python 3.11: 700, 10, 10): cached rows and answers form
no cycles, and a full collection over them stops every thread."""


def tune_interpreter() -> None:
    """Set switch interval and thresholds for this process."""
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(*GC_THRESHOLDS)
