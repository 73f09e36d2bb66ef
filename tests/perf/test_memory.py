"""The parent's memory does not grow with the number of clips."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "perf" / "memory.py"


@pytest.mark.slow
def test_peak_memory_is_the_same_for_200_and_5000_clips() -> None:
    """A real run of 5,000 clips needs at most a tenth more than one of 200, in resynth and in score."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "  5000 clips: resynth" in done.stdout
