"""Instructions of one call of PESQ, counted by callgrind, for this package and the package `pesq`.

callgrind knows no AVX-512, so the compiled code is made for AVX2 here and needs more instructions than what the machine
may really run. Each count is the difference between a process that calls once and one that calls three times, halved:
the interpreter and the imports cancel out. Usage, by default 2 and 10 seconds::

    python perf/metrics/pesq_instructions.py [SECONDS…]
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile

import numpy as np

RATE = 16000
TARGET = {
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+sse,+sse2,+sse3,+ssse3,+sse4.1,+sse4.2,+avx,+avx2,+fma,+bmi,+bmi2,+popcnt,+lzcnt",
    "OPENBLAS_NUM_THREADS": "1",
}


def call(which: str, seconds: int, calls: int) -> None:
    """Score bursts of harmonic sound against a noisy copy, ``calls`` times."""
    rng = np.random.default_rng(7)
    time = np.arange(RATE * seconds) / RATE
    tones = sum(np.sin(2 * np.pi * f * time) / k for k, f in enumerate((120, 240, 360, 900, 1800, 2600), 1))
    bursts = np.clip(np.sin(2 * np.pi * 1.3 * time) + 0.3, 0, 1) * np.clip(np.sin(2 * np.pi * 4.1 * time) + 0.8, 0, 1)
    reference = (0.2 * tones * bursts + 0.001 * rng.standard_normal(len(time))).astype(np.float32)
    degraded = (0.8 * reference + 0.01 * rng.standard_normal(len(time))).astype(np.float32)
    if which == "package":
        from pesq import pesq as package

        values = {package(RATE, reference, degraded, "wb") for _ in range(calls)}
    else:
        from codec_superb.metrics.p862 import pesq

        values = {pesq(reference, degraded, RATE, "wb") for _ in range(calls)}
    print(values)


def count(which: str, seconds: int, folder: str) -> int:
    """Return the instructions of one call."""
    environment = os.environ | TARGET | {"NUMBA_CACHE_DIR": folder}
    program = [sys.executable, __file__, which, str(seconds)]
    subprocess.run(
        [*program, "1"], env=environment, check=True, stdout=subprocess.DEVNULL
    )  # compile, outside callgrind
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    totals = []
    for calls in ("1", "3"):
        done = subprocess.run([*valgrind, *program, calls], env=environment, check=True, capture_output=True, text=True)
        totals.append(int(re.findall(r"Collected : (\d+)", done.stderr)[0]))
    return (totals[1] - totals[0]) // 2


def main() -> None:
    """Print a line for each length."""
    lengths = [int(text) for text in sys.argv[1:]] or [2, 10]
    with tempfile.TemporaryDirectory() as folder:
        for seconds in lengths:
            package, own = count("package", seconds, folder), count("own", seconds, folder)
            counts = f"{package / 1e6:.1f} → {own / 1e6:.1f} million instructions"
            print(f"{seconds} s: {counts}, {package / own:.1f} times fewer")


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] in {"package", "own"}:
        call(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
