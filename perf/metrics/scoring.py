"""Time the five published metrics against the reference composition: ``make perf``.

Both sides run in this process on one core, on the same pairs, in turns; what counts is processor time, the median of
the rounds. The reference composition is descript-audiotools (mel and STFT losses, one thread), pesq, pystoi, and
parselmouth with librosa's warping, on the same resampled audio. Exits with 1 when a value differs by more than the
metric definitions allow.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.score import MetricResult, score_pair

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
METRICS = ("stft", "mel", "pesq", "stoi", "f0corr_praat")
LIMITS = {"stft": 1e-3, "mel": 1e-3, "pesq": 1e-3, "stoi": 1e-3, "f0corr_praat": 1e-2}
RELATIVE = ("stft", "mel")
SECONDS = (2, 10, 30)
RATES = (16_000, 44_100)

Samples = NDArray[np.float64]
T = TypeVar("T")


@dataclass
class Timing:
    """Processor time of one pair in ms, a value per round; what differs between the sides."""

    ours: dict[str, list[float]] = field(default_factory=lambda: {key: [] for key in METRICS})
    theirs: dict[str, list[float]] = field(default_factory=lambda: {key: [] for key in METRICS})
    together: list[float] = field(default_factory=list)
    """All five of ours in one call."""
    differences: dict[str, float] = field(default_factory=dict)

    def our_total(self) -> float:
        """Return the median time of all five metrics scored together."""
        return statistics.median(self.together)

    def their_total(self, *, without: str = "") -> float:
        """Return the sum of the medians of the reference composition."""
        return sum(statistics.median(times) for key, times in self.theirs.items() if key != without)


class Reference:
    """The reference composition, one function per metric."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import torch
            from audiotools import AudioSignal
            from audiotools.metrics.spectral import MelSpectrogramLoss, MultiScaleSTFTLoss

        torch.set_num_threads(1)
        warnings.filterwarnings("ignore", "stft_data changed shape")  # the two windows of one loss
        self._signal, self._mel, self._stft = AudioSignal, MelSpectrogramLoss(), MultiScaleSTFTLoss()

    def functions(self) -> dict[str, Callable[[Samples, Samples, int], float]]:
        """Return the functions by metric key."""
        return {"stft": self.stft, "mel": self.mel, "pesq": self.pesq, "stoi": self.stoi, "f0corr_praat": self.f0corr}

    def _pair(self, x: Samples, y: Samples, rate: int) -> list[Any]:
        return [self._signal(sound[None, None].astype(np.float32), rate) for sound in (x, y)]

    def stft(self, x: Samples, y: Samples, rate: int) -> float:
        """Return the multi-scale STFT loss."""
        return float(self._stft(*self._pair(x, y, rate)))

    def mel(self, x: Samples, y: Samples, rate: int) -> float:
        """Return the mel spectrogram loss."""
        return float(self._mel(*self._pair(x, y, rate)))

    def pesq(self, x: Samples, y: Samples, rate: int) -> float:
        """Return the package's wide-band score at 16 kHz."""
        import pesq
        import soxr

        if rate != 16_000:
            x, y = (soxr.resample(sound, rate, 16_000, quality="VHQ") for sound in (x, y))
        return float(pesq.pesq(16_000, x, y, "wb"))

    def stoi(self, x: Samples, y: Samples, rate: int) -> float:
        """Return pystoi's score."""
        import pystoi

        return float(pystoi.stoi(x, y, rate))

    def f0corr(self, x: Samples, y: Samples, rate: int) -> float:
        """Return the correlation of Praat's pitch along librosa's exact path."""
        import librosa
        import parselmouth

        contours = []
        for sound in (x, y):
            pitch = parselmouth.Sound(sound, rate).to_pitch_ac(
                time_step=256 / rate, pitch_floor=50, pitch_ceiling=1100, voicing_threshold=0.6
            )
            f0 = pitch.selected_array["frequency"]
            cents = 1200 * np.log2(f0[f0 > 0] / 440)
            contours.append(cents - np.median(cents))
        _, path = librosa.sequence.dtw(contours[0][None], contours[1][None])
        return float(np.corrcoef(contours[0][path[:, 0]], contours[1][path[:, 1]])[0, 1])


def pairs() -> Iterator[tuple[int, int, Samples, Samples]]:
    """Yield rate, seconds and a pair of synthetic speech for each."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
    from support.metrics import coded, speech

    for rate in RATES:
        for seconds in SECONDS:
            x = speech(rate, seconds, seed=seconds).astype(np.float32).astype(np.float64)
            yield rate, seconds, x, coded(x, rate).astype(np.float32).astype(np.float64)


def timed(function: Callable[..., T], *arguments: object) -> tuple[T, float]:
    """Return the result and the processor time in ms, of all threads."""
    start = time.process_time()
    result = function(*arguments)
    return result, 1e3 * (time.process_time() - start)


def measure(reference: Reference, x: Samples, y: Samples, rate: int, rounds: int, backend: str) -> Timing:
    """Time one pair, both sides in turns; the first turn warms up and is not counted."""
    score = partial(score_pair, backends=(("pesq", backend),))
    timing = Timing()
    for turn in range(rounds + 1):
        together, total = timed(score, x, y, rate, METRICS)
        alone = {key: timed(score, x, y, rate, [key]) for key in METRICS}
        theirs = {key: timed(function, x, y, rate) for key, function in reference.functions().items()}
        for key in METRICS:
            timing.differences[key] = difference(key, together[key], theirs[key][0])
        if turn:
            timing.together.append(total)
            for key in METRICS:
                timing.ours[key].append(alone[key][1])
                timing.theirs[key].append(theirs[key][1])
    return timing


def difference(key: str, ours: MetricResult, theirs: float) -> float:
    """Return the absolute difference, relative for the distances, infinite where ours has no value."""
    if ours.value is None:
        return float("inf")
    return abs(ours.value - theirs) / (abs(theirs) if key in RELATIVE else 1.0)


def machine() -> str:
    """Return the processor and the packages that matter."""
    from importlib.metadata import PackageNotFoundError, version

    names = ("torch", "descript-audiotools", "pystoi", "praat-parselmouth", "librosa", "pesq", "numpy", "numba")
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    found = [f"{model}, Python {platform.python_version()}"]
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"without {name}")
    return ", ".join(found)


def main() -> int:
    """Print a Markdown table of times per pair and the ratios; 1 when a value is beyond its tolerance."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--pesq-backend", choices=("reference", "fast"), default="reference")
    options = parser.parse_args()
    restart_with_one_thread()
    reference, timings, wrong = Reference(), [], []
    print(machine())
    heads = ["rate", "s", *(f"{key} ours / ref" for key in METRICS), "all five ours / ref", "ratio", "without PESQ"]
    print("\n| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for rate, seconds, x, y in pairs():
        timing = measure(reference, x, y, rate, options.rounds, options.pesq_backend)
        timings.append(timing)
        print(line(rate, seconds, timing), flush=True)
        wrong += [
            f"{key} at {rate} Hz, {seconds} s: {d:.1e}" for key, d in timing.differences.items() if d > LIMITS[key]
        ]
    print(summary(timings))
    print("Values: " + ("; ".join(wrong) if wrong else "all within the tolerances."))
    return int(bool(wrong))


def restart_with_one_thread() -> None:
    """Pin this process to one core, and start it again when a library may already have started threads."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    if any(os.environ.get(name) != "1" for name in THREADS):
        os.environ.update(dict.fromkeys(THREADS, "1"))
        os.execv(sys.executable, [sys.executable, *sys.argv])


def line(rate: int, seconds: int, timing: Timing) -> str:
    """Return the line of the table for one pair."""
    median = statistics.median
    cells = [f"{median(timing.ours[key]):.1f} / {median(timing.theirs[key]):.1f}" for key in METRICS]
    ratio = timing.their_total() / timing.our_total()
    rest = timing.their_total(without="pesq") / (timing.our_total() - median(timing.ours["pesq"]))
    total = f"{timing.our_total():.1f} / {timing.their_total():.1f}"
    return "| " + " | ".join([str(rate), str(seconds), *cells, total, f"{ratio:.2f}", f"{rest:.2f}"]) + " |"


def summary(timings: list[Timing]) -> str:
    """Return the ratio over all pairs, with and without PESQ, and the largest differences."""
    ours, theirs = sum(t.our_total() for t in timings), sum(t.their_total() for t in timings)
    our_pesq = sum(statistics.median(t.ours["pesq"]) for t in timings)
    their_rest = sum(t.their_total(without="pesq") for t in timings)
    largest = {key: max(t.differences[key] for t in timings) for key in METRICS}
    differences = ", ".join(f"{key} {value:.1e}" for key, value in largest.items())
    ratios = [t.their_total() / t.our_total() for t in timings]
    return (
        f"\nAll pairs: {theirs / ours:.2f} times; without PESQ {their_rest / (ours - our_pesq):.2f} times. "
        f"Median of the pairs {statistics.median(ratios):.2f}, smallest {min(ratios):.2f}.\n"
        f"Largest differences: {differences}."
    )


if __name__ == "__main__":
    sys.exit(main())
