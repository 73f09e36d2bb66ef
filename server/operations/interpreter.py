"""How the interpreter of a service shares its time: set once, by whatever starts the service."""

from __future__ import annotations

import gc
import sys

SWITCH_SECONDS = 0.0005
"""Time for which one thread may hold the interpreter while others want it. The usual 5 ms, waited for at every turn of
the event loop, make a request wait ten times as long as it takes while a thread stores an upload."""
GC_THRESHOLDS = (5_000, 50, 50)
"""Thresholds of the collector's generations: kept rows and answers come and go and make no cycles, and looking through
all of them stops every thread."""


def tune_interpreter() -> None:
    """Set both for this process."""
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(*GC_THRESHOLDS)
