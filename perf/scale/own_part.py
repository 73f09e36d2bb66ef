"""What the pipeline costs beside the work itself, a clip: ``python perf/scale/own_part.py``.

Clips of 2 s at 16 kHz go through G.711 in worker processes, and through a loop of the work alone: read the WAV file,
encode, decode (with resampling to 8 kHz and back) and write FLAC. The loop goes in this process, by soundfile.write,
which calls fsync(2) when it closes a file; and, cut in as many parts as there are workers, in the same workers at
once, where FLAC is made in memory and written without fsync, as the stage does. All figures are processor time in ms a
clip, this process and its workers apart, the least of the rounds, which go in turns.
"""

from __future__ import annotations

import argparse
import io
import os
import resource
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import soundfile

RATE = 16_000
METRICS = ("mel", "stft", "stoi", "si_sdr")
TICKS = os.sysconf("SC_CLK_TCK")


class Spent(NamedTuple):
    """Seconds of processor time."""

    driver: float
    workers: float

    @property
    def whole(self) -> float:
        """Of all processes."""
        return self.driver + self.workers


def make_clips(folder: Path, clips: int, seconds: float) -> None:
    """Write ``clips`` different sounds: three partials that glide, in noise, as 16-bit WAV."""
    folder.mkdir()
    generator = np.random.default_rng(0)
    time = np.arange(int(seconds * RATE)) / RATE
    for number in range(clips):
        pitch = generator.uniform(80, 300) * (1 + 0.1 * np.sin(2 * np.pi * 3 * time))
        phase = 2 * np.pi * np.cumsum(pitch) / RATE
        sound = sum(np.sin(k * phase) / k for k in (1, 2, 3)) * 0.2 + 0.01 * generator.standard_normal(time.size)
        soundfile.write(folder / f"{number:05}.wav", sound, RATE)


def now() -> Spent:
    """Return what this process and its children have spent."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    ticks = 0
    for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return Spent(own.ru_utime + own.ru_stime, ticks / TICKS)


class Loop(NamedTuple):
    """The work alone, on some clips."""

    codec: str
    clips: tuple[Path, ...]
    out: Path
    sync: bool
    """Whether soundfile.write makes the file, with its fsync(2)."""


def alone(loop: Loop) -> Iterator[float]:
    """Yield the seconds that the work itself takes, in the process that runs it."""
    from codec_superb.base_codec.registry import open_codec

    opened = open_codec(loop.codec, "cpu")
    started = resource.getrusage(resource.RUSAGE_SELF)
    for path in loop.clips:
        sound, rate = soundfile.read(path, dtype="float32", always_2d=True)
        decoded = opened.decode(opened.encode(sound.T, rate))
        file = loop.out / f"{path.stem}.flac"
        made = str(file) if loop.sync else io.BytesIO()
        soundfile.write(made, decoded[0], rate, "PCM_24", format="FLAC")
        if isinstance(made, io.BytesIO):
            file.write_bytes(made.getbuffer())
    ended = resource.getrusage(resource.RUSAGE_SELF)
    yield ended.ru_utime + ended.ru_stime - started.ru_utime - started.ru_stime


def both_loops(codec: str, folder: Path, root: Path, pool: Any) -> tuple[float, float]:
    """Return the seconds of the work alone: here, and in the workers at once."""
    import own_part as by_name  # not __main__, which workers lack

    clips = tuple(sorted(folder.iterdir()))
    for name in ("here", "there"):
        (root / name).mkdir(parents=True)
    (here,) = alone(Loop(codec, clips, root / "here", sync=True))
    parts = [by_name.Loop(codec, clips[n :: pool.size], root / "there", sync=False) for n in range(pool.size)]
    return here, sum(event.value for event in pool.stream(by_name.alone, parts))


def stages(codec: str, folder: Path, out: Path, metrics: Sequence[str], pool: Any) -> dict[str, Spent]:
    """Run both stages and what each spent; every clip must come through."""
    from codec_superb.pipeline.resynthesis.stage import resynthesise
    from codec_superb.pipeline.scoring.stage import score

    begun = now()
    (made,) = resynthesise([codec], [str(folder)], out=out, executor=pool)
    between = now()
    (scored,) = score([out], metrics=metrics, executor=pool)
    ended = now()
    if not (made.complete and scored.complete):
        sys.exit("some clips failed: the figures would not be those of a whole run")
    return {
        "resynth": Spent(*(b - a for a, b in zip(begun, between, strict=True))),
        "score": Spent(*(b - a for a, b in zip(between, ended, strict=True))),
    }


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--codec", default="g711_alaw")
    parser.add_argument("--clips", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    from codec_superb.pipeline.workers.executor import Executor

    work: list[tuple[float, float]] = []
    found: dict[str, list[Spent]] = {"resynth": [], "score": []}
    with tempfile.TemporaryDirectory() as place, Executor(given.workers) as pool:
        root = Path(place)
        os.environ["CODEC_SUPERB_HOME"] = str(root / "home")
        make_clips(root / "clips", given.clips, given.seconds)
        make_clips(root / "few", 4, given.seconds)
        stages(given.codec, root / "few", root / "warm", METRICS, pool)
        for turn in range(given.rounds):
            work.append(both_loops(given.codec, root / "clips", root / f"alone-{turn}", pool))
            for stage, spent in stages(given.codec, root / "clips", root / f"runs-{turn}", METRICS, pool).items():
                found[stage].append(spent)
    each = 1000 / given.clips
    here, there = (min(seconds) for seconds in zip(*work, strict=True))
    print(f"{given.clips} clips of {given.seconds:g} s, {given.codec}, load {os.getloadavg()[0]:.1f}, ms a clip\n")
    print("| stage | processor ms | workers | driver | beyond the loop here | beyond the loop in the workers |")
    print("|---|---|---|---|---|---|")
    print(f"| the work alone, here with fsync | {here * each:.2f} | | | | |")
    print(f"| the work alone, in the workers | {there * each:.2f} | | | | |")
    for stage, spent in found.items():
        best = min(spent, key=lambda one: one.whole)
        columns = [f"{seconds * each:.2f}" for seconds in (best.whole, best.workers, best.driver)]
        columns += [f"{(best.whole - base) * each:.2f}" if stage == "resynth" else "" for base in (here, there)]
        print(f"| {stage} | {' | '.join(columns)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
