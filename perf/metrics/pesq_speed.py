"""Measure PESQ against the package ``pesq``: one thread, two threads, growth with length, instructions.

    python perf/metrics/pesq_speed.py [--clips FOLDER | --dataset mini] [--instructions]

Speech through several codecs, cut to 2, 10 and 30 s; both implementations in one process, each called several times in
a row, the best time counts; every score is checked to be the same. ``--instructions`` counts the instructions of one
call with ``perf stat`` (linux-perf must be installed), which do not depend on what else the machine does. callgrind
knows no AVX-512, and counts numba's compiler too when code for a lesser processor is made for it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pesq as package
from pesq_pairs import CODECS, RATE, Signal, clips_in, clips_of_dataset, fitted, resampled, through_codec

from codec_superb.metrics.p862 import pesq, pesq_batch

SECONDS = (2, 10, 30)
GROWTH_SECONDS = (1, 2, 5, 10, 20, 60, 120)
MODES = (("wb", 16000), ("nb", 16000), ("nb", 8000))
CHOSEN = (0, 2, 4, 6, 7)
"""Of the codecs: Opus 6 and 24 kbps, MP3 32 kbps, G.722, mu-law."""
Pair = tuple[Signal, Signal]


def best(call: Callable[[], object], repeats: int) -> float:
    """CPU seconds of this thread for the best of ``repeats`` calls."""
    times = []
    for _ in range(repeats):
        start = time.thread_time()
        call()
        times.append(time.thread_time() - start)
    return min(times)


def pairs_of(speech: Signal, seconds: float, rate: int) -> list[Pair]:
    """Different stretches of the speech, each through another codec."""
    length = int(seconds * RATE)
    repeated = np.tile(speech, 1 + length * len(CHOSEN) // len(speech))
    pairs = []
    for i, codec in enumerate(CHOSEN):
        reference = repeated[i * length : (i + 1) * length]
        coded = fitted(through_codec(reference, CODECS[codec]), length)
        pairs.append((resampled(reference, RATE, rate), resampled(coded, RATE, rate)))
    return pairs


def one_thread(speech: Signal) -> None:
    """Print milliseconds and ratio for every mode and length."""
    print(f"{'one thread':14}{'seconds':>8}{'package ms':>12}{'ours ms':>10}{'ratio':>8}  {len(CHOSEN)} pairs, medians")
    for mode, rate in MODES:
        for seconds in SECONDS:
            theirs, ours = [], []
            for reference, coded in pairs_of(speech, seconds, rate):
                assert pesq(reference, coded, rate, mode) == package.pesq(rate, reference, coded, mode)
                theirs.append(best(lambda a=reference, b=coded: package.pesq(rate, a, b, mode), 5))  # noqa: B023
                ours.append(best(lambda a=reference, b=coded: pesq(a, b, rate, mode), 7))  # noqa: B023
            ratio = np.median(np.array(theirs) / np.array(ours))
            name = f"{mode} {rate // 1000} kHz"
            print(f"{name:14}{seconds:8d}{1e3 * np.median(theirs):12.2f}{1e3 * np.median(ours):10.2f}{ratio:8.1f}")


def batched(speech: Signal, threads: int) -> None:
    """Print how long a batch takes on several threads, against the package on one."""
    pairs = pairs_of(speech, 10, RATE) * 4
    start = time.perf_counter()
    expected = [package.pesq(RATE, reference, coded, "wb") for reference, coded in pairs]
    theirs = time.perf_counter() - start
    walls = {}
    for count in (1, threads):
        walls[count] = np.inf
        for _ in range(3):
            start = time.perf_counter()
            scores = pesq_batch(pairs, RATE, "wb", threads=count)
            walls[count] = min(walls[count], time.perf_counter() - start)
            assert scores == expected
    print(f"batch of {len(pairs)} pairs of 10 s, wb: package {theirs:.2f} s on one thread")
    for count, wall in walls.items():
        print(f"    ours {wall:.3f} s on {count}: {theirs / wall:.1f} times as fast")


def growth(speech: Signal) -> None:
    """Print milliseconds for each second of audio over the length."""
    print("growth, wb, ms for each second of audio:")
    for seconds in GROWTH_SECONDS:
        reference, coded = pairs_of(speech, seconds, RATE)[1]
        took = best(lambda a=reference, b=coded: pesq(a, b, RATE), 3)
        print(f"{seconds:8d} s{1e3 * took / seconds:8.3f}")


def counted(arguments: Sequence[str]) -> int:
    """Return the instructions that ``SCRIPT`` executes with these arguments."""
    command = ["perf", "stat", "-x,", "-e", "instructions:u", sys.executable, "-c", SCRIPT, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"^(\d+),.*instructions", run.stderr, re.MULTILINE)
    if run.returncode or found is None:
        raise SystemExit(f"perf counted nothing:\n{run.stderr[-2000:]}")
    return int(found[1])


SCRIPT = """
import sys
import numpy as np
pair = np.load(sys.argv[1])
if sys.argv[2] == "package":
    from pesq import pesq
    call = lambda: pesq(16000, pair[0], pair[1], "wb")
else:
    from codec_superb.metrics.p862 import pesq
    call = lambda: pesq(pair[0], pair[1], 16000)
for _ in range(int(sys.argv[3])):
    call()
"""


def instructions(speech: Signal) -> None:
    """Print instructions of one call: those of eleven calls less those of one call, by ten."""
    print("instructions of one call, wb:")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pair.npy"
        for seconds in SECONDS:
            np.save(file, np.stack(pairs_of(speech, seconds, RATE)[1]))
            each = {}
            for which in ("package", "ours"):
                many, few = (counted([str(file), which, str(calls)]) for calls in (11, 1))
                each[which] = (many - few) / 10e6
            ratio = each["package"] / each["ours"]
            print(f"{seconds:8d} s  package {each['package']:9.1f} M  ours {each['ours']:8.1f} M  {ratio:5.1f} times")


def main() -> None:
    """Read the arguments and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--clips", type=Path, help="folder of sound files; default: the dataset of --dataset")
    source.add_argument("--dataset", default="mini")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--instructions", action="store_true")
    arguments = parser.parse_args()
    speech = np.concatenate(clips_in(arguments.clips) if arguments.clips else clips_of_dataset(arguments.dataset))
    one_thread(speech)
    batched(speech, arguments.threads)
    growth(speech)
    if arguments.instructions:
        instructions(speech)


if __name__ == "__main__":
    main()
