"""Tasks that tests give to worker processes, which import this module by name."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from codec_superb.pipeline.workers.executor import SINGLE_THREAD

if TYPE_CHECKING:
    from codec_superb.pipeline.scoring.clip import ScoredRun, ScoreTask


def squares(task: tuple[int, ...]) -> Iterator[int]:
    """Yield squares; -1 dies by a signal, -2 leaves, -3 hangs, -4 raises, -5 kills who started it."""
    for number in task:
        if number == -1:
            os.kill(os.getpid(), signal.SIGSEGV)
        if number == -2:
            os._exit(7)
        if number == -3:
            time.sleep(60)
        if number == -4:
            raise ValueError("no square of -4 today")
        if number == -5:
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(60)
        yield number * number


def die_of_much(_task: int) -> Iterator[int]:
    """Die by a signal after many compiled modules were imported, all of which the fault handler lists."""
    import pyarrow.parquet  # noqa: F401
    import scipy.signal  # noqa: F401

    os.kill(os.getpid(), signal.SIGSEGV)
    yield 0


def without_first(task: tuple[int, ...], index: int) -> tuple[int, ...] | None:
    """Give up one number."""
    return task[index + 1 :] or None


def thread_limits(_task: str) -> Iterator[tuple[str, ...]]:
    """Tell what limits the numeric libraries."""
    yield tuple(os.environ.get(name, "") for name in SINGLE_THREAD)


def page_faults(rounds: int) -> Iterator[int]:
    """Make three arrays of a megabyte and forget them, again and again; yield the page faults of all but the first."""
    import numpy as np

    before = 0
    for number in range(rounds + 1):
        arrays = [np.ones(250_000, np.float32) for _ in range(3)]
        del arrays
        if not number:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    yield resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


_LOADED: list[str] = []


def remember(argument: str) -> None:
    """Keep the argument in this process; 'fail' raises."""
    if argument == "fail":
        raise ValueError(argument)
    _LOADED.append(argument)


def remembered(_task: int) -> Iterator[list[str]]:
    """Tell what was kept, slowly, so that another worker takes the next task."""
    time.sleep(0.2)
    yield list(_LOADED)


def compute(seconds: float) -> Iterator[float]:
    """Take processor time, and say how much it was."""
    began = time.process_time()
    while (took := time.process_time() - began) < seconds:
        sum(range(1000))
    yield took


def build(lock: str) -> Iterator[tuple[int, list[str]]]:
    """Want a private environment; say who wanted it, and what was said of building it."""
    from codec_superb.base_codec.isolation.environment import ensure_built
    from codec_superb.base_codec.isolation.lock import open_lock

    said: list[str] = []
    ensure_built(open_lock(lock), said.append)
    yield os.getpid(), said


def own_pid(_task: int) -> Iterator[int]:
    """Tell who answers."""
    yield os.getpid()


def pid_then_sleep(_task: int) -> Iterator[int]:
    """Say who is busy, and who with it, then wait for a program."""
    yield os.getpid()
    with subprocess.Popen(["sleep", "60"]) as program:
        yield program.pid


def alive(pid: int) -> bool:
    """Whether a process runs, zombies excluded."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def die_on_first_item(task: ScoreTask) -> Iterator[ScoredRun]:
    """Score, but be killed by the first run's version of one clip, and behind the last answer about another."""
    from codec_superb.pipeline.scoring.clip import score_clip

    if task.clip == "clip02.wav" and task.items[0].run == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    yield from score_clip(task)
    if task.clip == "clip01.wav":
        os.kill(os.getpid(), signal.SIGKILL)
