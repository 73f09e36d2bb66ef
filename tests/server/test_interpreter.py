"""What is set once for the process of a service."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest

from codec_superb.server.serving import GC_THRESHOLDS, SWITCH_SECONDS, tune_interpreter


@pytest.fixture
def as_before() -> Iterator[None]:
    """Put everything back."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*thresholds)


@pytest.mark.usefixtures("as_before")
def test_threads_switch_sooner_and_the_collector_looks_seldom() -> None:
    """Both differ from what Python starts with."""
    tune_interpreter()
    assert sys.getswitchinterval() == pytest.approx(SWITCH_SECONDS)
    assert gc.get_threshold() == GC_THRESHOLDS
