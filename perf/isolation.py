"""Measures the overhead of isolation: a clip through a worker process against the same guest in this process.

``python perf/isolation.py [--clips 200]``: ten seconds of mono at 24 kHz, 75 frames of 8 codebooks a second, with a
guest that computes nothing, so that what remains is the transport. Exit code 1 when encode and decode together take
more than 5 ms longer in the median.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from codec_superb.base_codec.isolation.process import WORKER, Timeouts, WorkerProcess
from codec_superb.base_codec.isolation.worker import load_file

ALLOWED_MS = 5.0
RATE, SECONDS, FRAMES, CODEBOOKS = 24000, 10, 750, 8
GUEST = f"""
import numpy as np

class Guest:
    def __init__(self, card, device):
        self.tokens = np.zeros(({CODEBOOKS}, {FRAMES}), dtype=np.int64)
        self.audio = np.zeros((1, {RATE * SECONDS}), dtype=np.float32)

    def encode(self, audio):
        return self.tokens

    def decode(self, payload, channels):
        return self.audio
"""


def times(encode: Any, decode: Any, clips: int) -> np.ndarray[Any, Any]:
    """Return the milliseconds of each of ``clips`` clips."""
    audio = (0.1 * np.random.default_rng(0).standard_normal((1, RATE * SECONDS))).astype(np.float32)
    taken = []
    for _ in range(clips):
        started = time.perf_counter()
        decode(encode(audio), 1)
        taken.append(1000 * (time.perf_counter() - started))
    return np.asarray(taken)


def main() -> int:
    """Print median and 95th percentile of both, and of the difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", type=int, default=200)
    clips = parser.parse_args().clips
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "guest.py"
        path.write_text(GUEST)
        guest = load_file(path).Guest({}, "cpu")
        worker = WorkerProcess([sys.executable, "-I", str(WORKER)], Timeouts())
        worker.load(path, {}, "cpu")
        calls = (lambda audio: worker.encode([audio]), worker.decode)
        times(*calls, 5)
        isolated = times(*calls, clips)
        here = times(guest.encode, guest.decode, clips)
        worker.terminate()
    for name, taken in (("isolated", isolated), ("in process", here), ("overhead", isolated - np.median(here))):
        print(f"{name:>10}: median {np.median(taken):.3f} ms, p95 {np.percentile(taken, 95):.3f} ms")
    return int(np.median(isolated) - np.median(here) > ALLOWED_MS)


if __name__ == "__main__":
    sys.exit(main())
