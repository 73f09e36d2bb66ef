"""A stand-in for Slurm's sbatch: runs the tasks of an array for real, one after the other, and disturbs some."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from support.timing import PATIENCE_S

Trouble = Literal["preempted", "out of time"]
KNOWN = frozenset({
    "--job-name", "--array", "--ntasks", "--cpus-per-task", "--mem", "--time", "--gres", "--requeue", "--open-mode",
    "--signal", "--output", "--partition",
})  # fmt: skip


def options_of(script: Path) -> dict[str, str]:
    """Give the options of a batch script; sbatch reads them up to the first line of the script itself."""
    found: dict[str, str] = {}
    for line in script.read_text().splitlines():
        if line.startswith("#SBATCH "):
            name, _, value = line.removeprefix("#SBATCH ").partition("=")
            assert name in KNOWN, f"sbatch: unrecognized option {name}"
            found[name] = value
        elif line and not line.startswith("#"):
            break
    return found


def sbatch(script: Path, troubles: Mapping[int, tuple[Trouble, ...]], ready: Callable[[int], bool]) -> dict[int, int]:
    """Run all tasks and give the exit code of each.

    Each trouble of a task comes once ``ready`` says so of its next start: a preempted one is killed with its children
    (SIGKILL, as after KillWait), one out of time gets SIGUSR1 in its shell alone (``--signal=B:``); both start again.
    """
    options = options_of(script)
    first, last = map(int, options["--array"].partition("%")[0].split("-"))
    return {task: _run(script, options, task, list(troubles.get(task, ())), ready) for task in range(first, last + 1)}


def _run(
    script: Path, options: dict[str, str], task: int, troubles: list[Trouble], ready: Callable[[int], bool]
) -> int:
    commands = script.parent / "bin"
    commands.mkdir(exist_ok=True)
    asked = script.parent / f"requeue-{task}"
    (commands / "scontrol").write_text(
        f'#!/bin/sh\n[ "$1 $2" = "requeue 7_{task}" ] && touch {shlex.quote(str(asked))}\n'
    )
    (commands / "scontrol").chmod(0o755)
    log = script.parent / options["--output"].replace("%x", options["--job-name"]).replace("%A", "7").replace(
        "%a", str(task)
    )
    for restarts in range(10):
        environment = os.environ | {
            "SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": str(task), "SLURM_RESTART_COUNT": str(restarts),
            "PATH": f"{commands}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }  # fmt: skip
        with (
            log.open("a") as output,
            subprocess.Popen(
                ["bash", str(script)], stdout=output, stderr=output, env=environment, cwd=script.parent,
                start_new_session=True,
            ) as process,
        ):  # fmt: skip
            if not troubles:
                return process.wait(PATIENCE_S)
            _wait_for(lambda: ready(task))
            if troubles.pop(0) == "out of time":
                process.send_signal(signal.SIGUSR1)
                _wait_for(asked.exists)
                asked.unlink()
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(PATIENCE_S)
    raise AssertionError("a task was started ten times")


def _wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
