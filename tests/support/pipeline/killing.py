"""Stages that are killed at a random moment, and let run to their end."""

from __future__ import annotations

import os
import random
import signal
import time
from typing import Any

from support.pipeline.drive import start
from support.timing import PATIENCE_S


def finish(order: dict[str, Any]) -> None:
    """Let a stage run to its end."""
    with start(**order) as process:
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, errors


def killed(order: dict[str, Any], moments: random.Random, longest: float) -> bool:
    """Start a stage, kill it and its workers at a random moment; False when it was through before.

    Half of the moments are counted from the beginning, while workers start, half from the first finished clip.
    """
    event, delay = moments.choice(["started", "advanced"]), moments.uniform(0, longest)
    with start(**order) as process:
        assert process.stdout is not None
        if not any(line.startswith(event) for line in process.stdout):
            return False
        time.sleep(delay)
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        process.communicate()
        return process.returncode == -signal.SIGKILL
