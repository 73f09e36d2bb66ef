"""Time a whole benchmark of one codec against a simple loop: ``python perf/metrics/end_to_end.py``.

The same clips (of ``mini``, cut to equal lengths) go through the same codec on both sides. The loop is what
people write: one process; encode, decode, write a WAV file; read both files again, and the five published metrics of
the reference composition of ``scoring.py`` on each pair. Ours is ``resynth`` and ``score`` on two workers, from the
start of the process to its end. Besides: what resynthesis costs over the codec alone, and what a second core brings.
Each number is the best of the rounds, which go in turns.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import soundfile
from scoring import METRICS, THREADS, Reference, Samples, machine

SIDES = {
    "loop": "simple loop, five metrics",
    "five": "two workers, the same five",
    "default": "two workers, the default eight",
}
RATE = 16_000


class PlainReference(Reference):
    """The reference composition where descript-audiotools is not installed: its two losses from torch and librosa."""

    def __init__(self) -> None:
        import torch

        torch.set_num_threads(1)
        self._banks: dict[tuple[int, int], Any] = {}

    def stft(self, x: Samples, y: Samples, rate: int) -> float:  # noqa: ARG002 - as the others
        """Return the multi-scale STFT loss."""
        return sum(self._distance(*self._spectra(x, y, window)) for window in (2048, 512))

    def mel(self, x: Samples, y: Samples, rate: int) -> float:
        """Return the mel spectrogram loss."""
        import librosa
        import torch

        total = 0.0
        for window, bands in ((2048, 150), (512, 80)):
            if (rate, window) not in self._banks:
                self._banks[rate, window] = torch.from_numpy(librosa.filters.mel(sr=rate, n_fft=window, n_mels=bands))
            total += self._distance(*(self._banks[rate, window] @ s for s in self._spectra(x, y, window)))
        return total

    @staticmethod
    def _spectra(x: Samples, y: Samples, window: int) -> list[Any]:
        import torch

        sounds = (torch.from_numpy(np.asarray(sound, dtype=np.float32)) for sound in (x, y))
        shape = torch.hann_window(window)
        return [torch.stft(s, window, window // 4, window=shape, return_complex=True).abs() for s in sounds]

    @staticmethod
    def _distance(x: Any, y: Any) -> float:
        logs = [spectrum.clamp(1e-5).pow(2).log10() for spectrum in (x, y)]
        return float((logs[0] - logs[1]).abs().mean() + (x - y).abs().mean())


def make_clips(folder: Path, clips: int, seconds: float) -> None:
    """Write ``clips`` different stretches of the speech and music of ``mini``."""
    from pesq_pairs import clips_of_dataset

    speech = np.concatenate(clips_of_dataset("mini"))
    length = int(seconds * RATE)
    folder.mkdir()
    for number, start in enumerate(np.linspace(0, speech.size - length, clips).astype(int)):
        soundfile.write(folder / f"{number:04}.wav", speech[start : start + length], RATE)


def loop(codec: str, folder: Path, out: Path) -> None:
    """Code, write, read and score every clip."""
    opened = opened_codec(codec)
    try:
        reference = Reference()
    except ImportError:
        reference = PlainReference()
    out.mkdir(parents=True)
    for path in sorted(folder.iterdir()):
        sound, rate = soundfile.read(path, dtype="float32")
        soundfile.write(out / path.name, opened.decode(opened.encode(sound[np.newaxis], rate))[0], rate)
    totals = dict.fromkeys(METRICS, 0.0)
    for path in sorted(folder.iterdir()):
        (x, rate), (y, _) = soundfile.read(path), soundfile.read(out / path.name)
        for key, function in reference.functions().items():
            with suppress(Exception), warnings.catch_warnings(action="ignore"):  # the published loop counts 0 then
                totals[key] += function(x, y, rate)
    print({key: total / len(list(folder.iterdir())) for key, total in totals.items()}, file=sys.stderr)


def opened_codec(name: str) -> Any:
    """Open a codec of the catalogue on the CPU."""
    from codec_superb.base_codec.registry import open_codec

    return open_codec(name, "cpu")


def bench(codec: str, folder: Path, out: Path, metrics: Sequence[str] | None) -> None:
    """Resynthesise and score on two workers, as the commands do."""
    from codec_superb.pipeline.workers.executor import Executor

    with Executor(2) as pool:
        stages(codec, folder, out, metrics, pool)


class Stages(NamedTuple):
    """Seconds of both stages, and of the codec as resynthesis measures it on each clip."""

    resynth: float
    score: float
    codec: float


def stages(codec: str, folder: Path, out: Path, metrics: Sequence[str] | None, pool: Any) -> Stages:
    """Run both stages; every clip must come through."""
    from codec_superb.pipeline.resynthesis.stage import resynthesise
    from codec_superb.pipeline.runs.folder import RunFolder
    from codec_superb.pipeline.scoring.stage import score

    started = time.perf_counter()
    (made,) = resynthesise([codec], [str(folder)], out=out, executor=pool)
    between = time.perf_counter()
    (scored,) = score([out], metrics=metrics, executor=pool)
    ended = time.perf_counter()
    if not (made.complete and scored.complete):
        sys.exit("some clips failed: the figures would not be those of a whole run")
    coding = sum((row.encode_s or 0.0) + (row.decode_s or 0.0) for row in RunFolder(made.path).rows())
    return Stages(between - started, ended - between, coding)


class Spent(NamedTuple):
    """Time of one process from start to end, with its workers."""

    seconds: float
    processor: float


def whole(*arguments: str | Path) -> Spent:
    """Run this program with ``arguments``."""
    environment = os.environ | dict.fromkeys(THREADS, "1")
    command = [sys.executable, __file__, *map(str, arguments)]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    ended, after = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    return Spent(ended - started, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def measure(codec: str, clips: int, seconds: float, rounds: int) -> None:
    """Run all sides in turns; print the best of each."""
    from codec_superb.pipeline.workers.executor import Executor

    os.environ.update(dict.fromkeys(THREADS, "1"))
    wholes: dict[str, list[Spent]] = {side: [] for side in SIDES}
    warm: dict[int, list[Stages]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as place, Executor(1) as one, Executor(2) as two:
        root = Path(place)
        folder, few = root / "speech", root / "few"
        make_clips(folder, clips, seconds)
        make_clips(few, 4, seconds)
        for pool in (one, two):
            stages(codec, few, root / f"few-{pool.size}", None, pool)
        for turn in range(rounds):
            for side, found in wholes.items():
                out = root / f"{side}-{turn}"
                found.append(whole("--codec", codec, "--side", side, "--folder", folder, "--out", out))
            for pool in (one, two):
                warm[pool.size].append(stages(codec, folder, root / f"{pool.size}-{turn}", None, pool))
    print(machine())
    print(f"\n{clips} clips of {seconds:g} s through {codec}, best of {rounds}, load {os.getloadavg()[0]:.1f}\n")
    print("| from start to end of the process | s | times the loop | processor s | times |\n|---|---|---|---|---|")
    loop = Spent(*map(min, zip(*wholes["loop"], strict=True)))
    for side, name in SIDES.items():
        best = Spent(*map(min, zip(*wholes[side], strict=True)))
        print(
            f"| {name} | {best.seconds:.2f} | {loop.seconds / best.seconds:.2f} | {best.processor:.2f} "
            f"| {loop.processor / best.processor:.2f} |"
        )
    print("\n| warm workers, ms a clip | one | two | times |\n|---|---|---|---|")
    both = {size: [found.resynth + found.score for found in turns] for size, turns in warm.items()}
    resynth, score = ({size: [found[at] for found in turns] for size, turns in warm.items()} for at in (0, 1))
    for name, of in (("resynth", resynth), ("score", score), ("both", both)):
        first, second = (1000 * min(of[size]) / clips for size in (1, 2))
        print(f"| {name} | {first:.2f} | {second:.2f} | {first / second:.2f} |")
    over = min(found.resynth / found.codec for found in warm[1])
    print(f"\nResynthesis on one worker takes {over:.2f} times its encoding and decoding.")


def main() -> int:
    """Measure, or be one side of the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--codec", default="opus_12k")
    parser.add_argument("--clips", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side == "loop":
        loop(given.codec, given.folder, given.out)
    elif given.side:
        bench(given.codec, given.folder, given.out, METRICS if given.side == "five" else None)
    else:
        measure(given.codec, given.clips, given.seconds, given.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
