"""What Apache Beam's local runner costs beside the executor: the same tasks on two workers (needs the extra ``beam``).

    python perf/beam.py [--clips N] [--codec NAME]

Each stage runs in a fresh folder; seconds are clock time of the call, the pipeline's start and its workers' imports
included. A stream without work shows what a pipeline costs by itself.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import soundfile

from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.scoring.stage import score
from codec_superb.pipeline.workers.executor import Executor
from codec_superb.pipeline.workers.executors import open_executor

RATE = 16000


def drain(pool: Executor, tasks: int) -> None:
    """Send tasks without work: each gives back what it holds."""
    with closing(pool.stream(iter, [(task,) for task in range(tasks)])) as events:
        for _ in events:
            pass


def timed(call: Callable[[], object]) -> float:
    """Return the seconds of a call."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", type=int, default=100)
    parser.add_argument("--codec", default="opus_12k")
    given = parser.parse_args()
    print("| step | processes, s | beam, s |\n|---|---|---|")
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as place:
        data = Path(place) / "data"
        data.mkdir()
        for number in range(given.clips):
            sound = 0.1 * np.random.default_rng(number).standard_normal(5 * RATE)
            soundfile.write(data / f"{number:05}.wav", sound, RATE)
        for runner in ("processes", "beam"):
            out = Path(place) / runner
            with open_executor(runner, 2) as pool:

                def resynth(out: Path = out, pool: Executor = pool) -> None:
                    resynthesise([given.codec], [str(data)], out=out, category="speech", executor=pool)

                def scores(out: Path = out, pool: Executor = pool) -> None:
                    score([out], metrics=["stoi", "si_sdr"], executor=pool)

                for step, call in (
                    ("one task without work", lambda pool=pool: drain(pool, 1)),
                    ("1,000 tasks without work", lambda pool=pool: drain(pool, 1000)),
                    (f"resynth, {given.clips} clips of 5 s", resynth),
                    (f"score, {given.clips} clips of 5 s", scores),
                ):
                    found.setdefault(step, []).append(timed(call))
    for step, seconds in found.items():
        print(f"| {step} | " + " | ".join(f"{value:.2f}" for value in seconds) + " |")


if __name__ == "__main__":
    main()
