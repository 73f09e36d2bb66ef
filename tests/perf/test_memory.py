"""The parent's memory does not grow with the number of clips."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.profile import amount

SCRIPT = Path(__file__).parents[2] / "perf" / "scale" / "memory.py"


@pytest.mark.slow
def test_peak_memory_does_not_grow_with_the_number_of_clips() -> None:
    """A real run of 600 clips (5,000 in long form) needs at most a tenth more than one of 200, in either stage."""
    many = amount(600, 5000)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    program = [sys.executable, SCRIPT, "--clips", str(many)]
    done = subprocess.run(program, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"  {many} clips: resynth" in done.stdout
