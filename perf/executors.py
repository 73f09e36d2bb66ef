"""What Ray costs beside worker processes: the same tasks on two cores (needs the extra ``ray``).

    python perf/executors.py [--clips N] [--tasks N] [--work SECONDS]

Ray's two machines are raylets of one core each on loopback addresses, beside a head without cores. Workers are started
before anything is measured. Processor time is that of everything below this process: driver, Ray's own processes,
actors and their worker processes. Efficiency is work over the time of two cores: 1 is nothing but work. ``--work`` is
seconds of computing of one task; tasks without work show what each costs by itself, and how many a driver sustains.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import soundfile

from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.scoring.stage import score
from codec_superb.pipeline.workers.executor import Executor, TaskResult
from codec_superb.pipeline.workers.executors import open_executor

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from support.pipeline.ray_nodes import RayNodes
from support.pipeline.workers import compute
from support.processor_time import spent

RATE = 16000
CORES = 2


def drain(pool: Executor, tasks: int, seconds: float) -> float:
    """Have tasks computed; return the seconds of work of all."""
    with closing(pool.stream(compute, [seconds] * tasks)) as events:
        return sum(event.value for event in events if isinstance(event, TaskResult))


def timed(call: Callable[[], object]) -> tuple[float, float, object]:
    """Return seconds of the clock, of the processors, and what came of a call."""
    clock, processor = time.perf_counter(), spent()
    value = call()
    return time.perf_counter() - clock, spent() - processor, value


def measure(name: str, executor: str, given: argparse.Namespace, place: Path) -> None:
    """Print the rows of one executor."""
    with open_executor(executor, CORES) as pool:
        drain(pool, 2 * CORES, 0.3)  # workers of both cores start
        wall, processor, _ = timed(lambda: drain(pool, given.tasks, 0.0))
        each = 1000 / given.tasks
        said = f"{wall * each:.2f} ms, {processor * each:.2f} ms of processor a task, {given.tasks / wall:.0f} tasks/s"
        print(f"| {name} | {given.tasks} tasks without work | {wall:.2f} | {processor:.2f} | {said} |")
        wall, processor, work = timed(lambda: drain(pool, given.clips, given.work))
        assert isinstance(work, float)
        print(
            f"| {name} | {given.clips} tasks of {given.work:g} s | {wall:.2f} | {processor:.2f} | efficiency "
            f"{work / wall / CORES:.3f} of the clock, {work / processor:.3f} of the processors |"
        )
        out = place / name
        for step, call in (
            (
                "resynth g711_alaw",
                lambda: resynthesise(["g711_alaw"], [str(place / "data")], out=out, category="speech", executor=pool),
            ),
            ("score si_sdr, stoi", lambda: score([out], metrics=["si_sdr", "stoi"], executor=pool)),
        ):
            wall, processor, _ = timed(call)
            print(
                f"| {name} | {step}, {given.clips} clips of 2 s | {wall:.2f} | {processor:.2f} | "
                f"{given.clips / wall:.0f} clips/s, {1000 * processor / given.clips:.1f} ms of processor a clip |"
            )


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=200)
    parser.add_argument("--tasks", type=int, default=5000)
    parser.add_argument("--work", type=float, default=0.5)
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    print("| executor | step | wall, s | processor, s | |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "data").mkdir()
        for number in range(given.clips):
            sound = 0.1 * np.random.default_rng(number).standard_normal(2 * RATE)
            soundfile.write(place / "data" / f"{number:05}.wav", sound, RATE)
        measure("processes", "processes", given, place)
        with RayNodes() as nodes:
            for _ in range(CORES):
                nodes.add()
            measure("ray", f"ray:{nodes.address}", given, place)


if __name__ == "__main__":
    main()
