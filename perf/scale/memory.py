"""Checks that a run's memory does not grow with clips: peak RSS of the parent with 200 and 5,000 within 10 %.

``python perf/scale/memory.py``: for each size a process of its own resynthesises a folder of tiny clips with G.711
and scores them with SI-SDR; its workers are not counted. Exit code 1 when memory grows by more than 10 %.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

FEW, MANY = 200, 5000
ALLOWED = 1.10
SAMPLES = 800
RATE = 8000


def make_folder(folder: Path, clips: int) -> None:
    """Write ``clips`` WAV files of a tenth of a second, all different."""
    import soundfile

    generator = np.random.default_rng(clips)
    for number in range(clips):
        place = folder / f"{number // 100:03}"
        place.mkdir(parents=True, exist_ok=True)
        soundfile.write(place / f"{number:06}.wav", 0.1 * generator.standard_normal(SAMPLES), RATE)


def run(folder: Path, out: Path, workers: int) -> None:
    """Resynthesise and score ``folder``, then print this process's peak RSS in KiB after each stage."""
    from codec_superb.pipeline.resynthesis.stage import resynthesise
    from codec_superb.pipeline.scoring.stage import score
    from codec_superb.pipeline.workers.executor import Executor

    peaks = []
    with Executor(workers) as pool:
        (made,) = resynthesise(["g711_alaw"], [str(folder)], out=out, executor=pool)
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        (scored,) = score([out], metrics=["si_sdr"], executor=pool)
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    if not (made.complete and scored.complete):
        sys.exit("some clips failed: the figures would not be those of a whole run")
    print(*peaks)


def measure(clips: int, workers: int) -> tuple[int, int]:
    """Return the peak RSS in KiB after resynth and after score."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "clips"
        make_folder(folder, clips)
        command = [sys.executable, __file__, "--folder", str(folder), "--out", f"{place}/runs"]
        command += ["--workers", str(workers)]
        environment = os.environ | {"CODEC_SUPERB_HOME": f"{place}/home"}
        started = time.monotonic()
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
        resynth, scored = map(int, done.stdout.split())
        print(f"{clips:6} clips: resynth {resynth / 1024:7.1f} MiB, score {scored / 1024:7.1f} MiB", end="")
        print(f"  ({time.monotonic() - started:.1f} s)")
    return resynth, scored


def main() -> int:
    """Measure both sizes and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--clips", type=int, default=MANY, help="how many are many")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.folder is not None:
        run(given.folder, given.out, given.workers)
        return 0
    small, large = (measure(clips, given.workers) for clips in (FEW, given.clips))
    growth = [after / before for before, after in zip(small, large, strict=True)]
    print(f"growth: resynth ×{growth[0]:.3f}, score ×{growth[1]:.3f} (allowed ×{ALLOWED:.2f})")
    return 0 if max(growth) <= ALLOWED else 1


if __name__ == "__main__":
    sys.exit(main())
