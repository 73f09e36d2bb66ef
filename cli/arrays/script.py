"""The batch script of an array of tasks for Slurm, from what a task does and what it needs."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

WARNED_S = 120
"""Seconds before its time limit at which a task goes back to the queue; Slurm may be 60 s late (sbatch(1))."""
RESTARTS = 50
"""A task that has been started so often is given up: none of its clips fits into its time."""


class Resources(NamedTuple):
    """What a task needs."""

    shards: int
    time: str
    memory: str
    cpus: int
    gpus: int
    at_once: int | None
    sbatch: tuple[str, ...]
    """Further options of sbatch."""
    logs: Path


def words_of_task(stage: str, words: Sequence[str], needs: Resources) -> str:
    """Return the command of a task for bash: the interpreter of this process, the stage, its shard."""
    given = [sys.executable, "-m", "codec_superb", stage, *words]
    has = {word.partition("=")[0] for word in words}
    if needs.gpus and stage != "score" and "--device" not in has:
        # a task that gets no GPU shall fail, and not compute for days
        given += ["--device", "cuda"]
    if "--workers" not in has:
        given += ["--workers", str(needs.cpus)]
    return f'{shlex.join(given)} --shard "$SLURM_ARRAY_TASK_ID/{needs.shards}"'


def batch_script(stage: str, command: str, needs: Resources) -> str:
    """Return the script: options for sbatch, then the task with what happens to it when it is preempted or out of time.

    A preempted task is queued again by Slurm (``--requeue``), one that is out of time by itself; either goes on where
    its journal stopped. Its exit code is the stage's: Slurm shows a task with failed clips (3) as FAILED.
    """
    array = f"1-{needs.shards}" + (f"%{needs.at_once}" if needs.at_once else "")
    options = [
        f"--job-name=codec-superb-{stage}",
        f"--array={array}",
        "--ntasks=1",
        f"--cpus-per-task={needs.cpus}",
        f"--mem={needs.memory}",
        f"--time={needs.time}",
        *([f"--gres=gpu:{needs.gpus}"] if needs.gpus else []),
        "--requeue",
        "--open-mode=append",
        f"--signal=B:USR1@{WARNED_S}",
        f"--output={needs.logs}/%x-%A_%a.log",
        *needs.sbatch,
    ]
    lines = "\n".join(f"#SBATCH {option}" for option in options)
    return f"""#!/bin/bash
{lines}

task="shard $SLURM_ARRAY_TASK_ID/{needs.shards}, job ${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID on $(hostname)"
starts=$(( ${{SLURM_RESTART_COUNT:-0}} + 1 ))
echo "codec-superb {stage}: $task: start $starts"

{command} &
stage=$!

stop() {{ kill -TERM "$stage" 2>/dev/null; wait "$stage"; }}

out_of_time() {{
    stop
    if [ "$starts" -gt {RESTARTS} ]; then
        echo "codec-superb {stage}: $task: given up after $starts starts: give tasks more --time" >&2
        exit 1
    fi
    echo "codec-superb {stage}: $task: out of time, back to the queue"
    scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID"
    sleep 60  # Slurm ends this script
    exit 1
}}

trap out_of_time USR1
trap 'stop; exit 143' TERM

wait "$stage"
code=$?
echo "codec-superb {stage}: $task: ended with $code"
exit "$code"
"""
