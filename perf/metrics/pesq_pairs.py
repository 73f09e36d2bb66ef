"""Seeded speech pairs for comparing PESQ implementations, and the comparison itself (``make test-pesq``).

    python perf/metrics/pesq_pairs.py --clips FOLDER --count 2000 --mode wb --mode nb

Every pair is a function of its number alone: a real clip, cut to 1–8 s, then a chain of codec, level, delay, gaps,
noise, band limit and changes of delay. The table shows how far ``codec_superb.metrics.p862`` is from the package
``pesq`` on each kind of damage, and the exit status is 1 when a bound of the comparison does not hold.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray
from scipy.signal import butter, lfilter, sosfilt

Signal = NDArray[np.float32]
RATE = 16000
CODECS: tuple[tuple[str, str, int, int], ...] = (
    # encoder, decoder, sampling rate in Hz, bit/s
    ("libopus", "opus", 16000, 6000),
    ("libopus", "opus", 16000, 12000),
    ("libopus", "opus", 48000, 24000),
    ("libmp3lame", "mp3float", 16000, 8000),
    ("libmp3lame", "mp3float", 16000, 32000),
    ("aac", "aac", 16000, 16000),
    ("g722", "g722", 16000, 64000),
    ("pcm_mulaw", "pcm_mulaw", 8000, 64000),
    ("libopencore_amrnb", "amrnb", 8000, 4750),
    ("libopencore_amrnb", "amrnb", 8000, 12200),
    ("real_144", "real_144", 8000, 8000),
    ("nellymoser", "nellymoser", 8000, 16000),
)


@dataclass
class Pair:
    """One reference with its damaged version, 16 kHz, equal length, and the names of what was done to it."""

    reference: Signal
    resynthesis: Signal
    steps: list[str] = field(default_factory=list)


def resampled(signal: Signal, source: int, target: int) -> Signal:
    """``signal`` at ``target`` Hz."""
    if source == target:
        return signal
    return np.asarray(soxr.resample(signal, source, target, quality="VHQ"), dtype=np.float32)


def fitted(signal: Signal, length: int) -> Signal:
    """``signal`` cut or filled with zeros to ``length`` samples."""
    return np.pad(signal, (0, max(0, length - len(signal))))[:length].astype(np.float32)


def _packets(encoder: Any, signal: Signal, rate: int) -> Iterator[Any]:
    formatted = av.AudioResampler(
        format=encoder.format, layout="mono", rate=rate, frame_size=encoder.frame_size or 1024
    )
    frame = av.AudioFrame.from_ndarray(signal[None, :], format="fltp", layout="mono")
    frame.sample_rate, frame.pts, frame.time_base = rate, 0, Fraction(1, rate)
    for piece in [*formatted.resample(frame), *formatted.resample(None)]:
        yield from encoder.encode(piece)
    yield from encoder.encode(None)


def through_codec(signal: Signal, codec: tuple[str, str, int, int]) -> Signal:
    """``signal`` (16 kHz) encoded and decoded, with the codec's own delay left in."""
    name, decoder_name, rate, bits = codec
    encoder: Any = av.CodecContext.create(name, "w")
    encoder.sample_rate, encoder.layout, encoder.bit_rate = rate, "mono", bits
    encoder.format = encoder.codec.audio_formats[0]
    encoder.time_base = Fraction(1, rate)
    encoder.open()
    decoder: Any = av.CodecContext.create(decoder_name, "r")
    decoder.sample_rate, decoder.layout = rate, "mono"
    decoder.extradata = encoder.extradata
    to_float = av.AudioResampler(format="fltp", layout="mono", rate=RATE)
    pieces = []
    for packet in _packets(encoder, resampled(signal, RATE, rate), rate):
        for frame in decoder.decode(packet):
            pieces.extend(piece.to_ndarray()[0] for piece in to_float.resample(frame))
    pieces.extend(piece.to_ndarray()[0] for piece in to_float.resample(None))
    return np.concatenate(pieces).astype(np.float32)


def damaged_by_codec(signal: Signal, random: np.random.Generator) -> tuple[Signal, str]:
    """Apply a codec drawn from ``CODECS``."""
    codec = CODECS[int(random.integers(len(CODECS)))]
    return fitted(through_codec(signal, codec), len(signal)), f"codec {codec[0]}"


def damaged_by_level(signal: Signal, random: np.random.Generator) -> tuple[Signal, str]:
    """Apply a gain from -30 to +12 dB, clipped at full scale."""
    gain = 10 ** (random.uniform(-30, 12) / 20)
    return np.clip(signal * gain, -1, 1).astype(np.float32), "level"


def damaged_by_delay(signal: Signal, random: np.random.Generator) -> tuple[Signal, str]:
    """Up to 500 ms late, or early."""
    shift = int(random.integers(-RATE // 2, RATE // 2))
    late = np.pad(signal, (max(shift, 0), max(-shift, 0)))
    return (late[: len(signal)] if shift > 0 else late[-len(signal) :]).astype(np.float32), "delay"


def damaged_by_gaps(signal: Signal, random: np.random.Generator) -> tuple[Signal, str]:
    """Lost packets of 10 to 200 ms, as silence or as a repetition."""
    out = signal.copy()
    for _ in range(int(random.integers(1, 12))):
        length = int(random.integers(RATE // 100, RATE // 5))
        start = int(random.integers(0, max(1, len(out) - length)))
        before = out[max(0, start - length) : start]
        out[start : start + length] = 0
        if random.random() < 0.5:
            out[start : start + len(before)] = before[: len(out) - start]
    return out, "gaps"


def damaged_by_noise(signal: Signal, random: np.random.Generator) -> tuple[Signal, str]:
    """White, pink or modulated noise at -5 to 40 dB."""
    noise = random.standard_normal(len(signal))
    kind = int(random.integers(3))
    if kind == 1:
        noise = lfilter([0.05, -0.0959, 0.0506, -0.0044], [1, -2.4949, 2.0172, -0.5221], noise)
    elif kind == 2:
        noise = noise * np.abs(signal)
    level = np.sqrt(np.mean(signal**2) / (np.mean(noise**2) + 1e-20)) * 10 ** (-random.uniform(-5, 40) / 20)
    return np.clip(signal + level * noise, -1, 1).astype(np.float32), "noise"


def damaged_by_band(signal: Signal, random: np.random.Generator) -> tuple[Signal, str]:
    """Apply a low-pass between 0.8 and 7 kHz or a high-pass between 50 and 800 Hz."""
    if random.random() < 0.7:
        sos = butter(int(random.integers(2, 9)), random.uniform(800, 7000), "low", fs=RATE, output="sos")
    else:
        sos = butter(2, random.uniform(50, 800), "high", fs=RATE, output="sos")
    return np.asarray(sosfilt(sos, signal), dtype=np.float32), "band"


def damaged_by_jitter(signal: Signal, random: np.random.Generator) -> tuple[Signal, str]:
    """Change the delay up to four times by up to 60 ms: samples are left out or put in."""
    out = signal
    for _ in range(int(random.integers(1, 5))):
        at = int(random.integers(0, len(out)))
        change = int(random.integers(-RATE * 6 // 100, RATE * 6 // 100))
        out = (
            np.concatenate([out[:at], np.zeros(change, np.float32), out[at:]])
            if change > 0
            else np.delete(out, slice(at, at - change))
        )
    return fitted(out, len(signal)), "jitter"


DAMAGES: tuple[tuple[float, Callable[[Signal, np.random.Generator], tuple[Signal, str]]], ...] = (
    (0.65, damaged_by_codec),
    (0.30, damaged_by_band),
    (0.30, damaged_by_noise),
    (0.25, damaged_by_gaps),
    (0.25, damaged_by_jitter),
    (0.40, damaged_by_delay),
    (0.40, damaged_by_level),
)


def make_pair(clips: Sequence[Signal], number: int) -> Pair:
    """Pair ``number`` from mono 16 kHz ``clips``: the same pair whatever was made before."""
    random = np.random.default_rng([862, number])
    clip = clips[int(random.integers(len(clips)))]
    length = min(len(clip), int(RATE * np.exp(random.uniform(np.log(1.0), np.log(8.0)))))
    start = int(random.integers(0, len(clip) - length + 1))
    reference = (clip[start : start + length] * 10 ** (random.uniform(-20, 0) / 20)).astype(np.float32)
    if random.random() < 0.3:
        reference = fitted(np.concatenate([np.zeros(int(random.integers(RATE)), np.float32), reference]), length)
    pair = Pair(reference, reference)
    for chance, damage in DAMAGES:
        if random.random() < chance:
            pair.resynthesis, name = damage(pair.resynthesis, random)
            pair.steps.append(name)
    return pair


def clips_in(folder: Path) -> list[Signal]:
    """Every sound file below ``folder``: mono, 16 kHz, cut into pieces of at most 20 s."""
    clips = []
    for path in sorted(p for p in folder.rglob("*") if p.suffix in {".wav", ".flac", ".ogg", ".mp3"}):
        samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
        mono = resampled(samples.mean(axis=1), rate, RATE)
        clips.extend(mono[at : at + 20 * RATE] for at in range(0, len(mono), 20 * RATE))
    return [clip for clip in clips if len(clip) >= RATE]


def clips_of_dataset(name: str) -> list[Signal]:
    """Speech and music of a prepared dataset: mono, 16 kHz."""
    from codec_superb.data_manifests import open_dataset

    dataset = open_dataset(name)
    clips = []
    for clip in map(dataset.clip, dataset.clip_ids()):
        if clip.category == "audio":
            continue
        samples, rate = clip.load()
        clips.append(resampled(np.asarray(samples, dtype=np.float32).mean(axis=0), rate, RATE))
    return [clip for clip in clips if len(clip) >= RATE]


@dataclass
class Outcome:
    """Both implementations on one pair: a score or the name of the error."""

    number: int
    mode: str
    rate: int
    steps: list[str]
    package: float | str
    ours: float | str

    @property
    def difference(self) -> float:
        """Of the scores; 0 where both found the same error, infinite where only one did."""
        if isinstance(self.package, str) or isinstance(self.ours, str):
            return 0.0 if ERRORS.get(str(self.package)) == self.ours else float("inf")
        return abs(self.package - self.ours)


ERRORS = {
    "NoUtterancesError": "NoUtterances",
    "BufferTooShortError": "TooShort",
    "ValueError": "SilentResynthesis",  # it tries to make an integer of the score NaN
}


def _result(measure: Callable[[], float]) -> float | str:
    try:
        return float(measure())
    except Exception as error:  # noqa: BLE001 - which error is what is compared
        return type(error).__name__


def compare(clips: Sequence[Signal], numbers: Sequence[int], modes: Sequence[tuple[str, int]]) -> list[Outcome]:
    """Both implementations on the pairs ``numbers`` in every (mode, sampling rate)."""
    import pesq as package

    from codec_superb.metrics.p862 import pesq

    outcomes = []
    for number in numbers:
        pair = make_pair(clips, number)
        for mode, rate in modes:
            both = resampled(pair.reference, RATE, rate), resampled(pair.resynthesis, RATE, rate)
            expected = _result(lambda both=both, mode=mode, rate=rate: package.pesq(rate, *both, mode))
            got = _result(lambda both=both, mode=mode, rate=rate: pesq(*both, rate, mode))
            outcomes.append(Outcome(number, mode, rate, pair.steps, expected, got))
    return outcomes


def table(outcomes: Sequence[Outcome]) -> str:
    """Differences by mode and by damage, as a table."""
    lines = [
        f"{'':24}{'pairs':>7}{'errors':>8}{'same bits':>11}{'> 1e-6':>8}{'> 1e-3':>8}{'> 1e-2':>8}{'greatest':>11}"
    ]
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        name = f"{outcome.mode} {outcome.rate // 1000} kHz"
        for key in (name, *(f"  {name} {step}" for step in outcome.steps or ["untouched"])):
            groups.setdefault(key, []).append(outcome)
    for name, members in sorted(groups.items(), key=lambda item: (item[0].strip(), item[0])):
        far = np.array([member.difference for member in members])
        errors = sum(isinstance(member.package, str) for member in members)
        counts = [int((far == 0).sum()), *(int((far > bound).sum()) for bound in (1e-6, 1e-3, 1e-2))]
        lines.append(
            f"{name:24}{len(far):7d}{errors:8d}{counts[0]:11d}{counts[1]:8d}{counts[2]:8d}{counts[3]:8d}{far.max():11.2e}"
        )
    return "\n".join(lines)


def bounds_hold(outcomes: Sequence[Outcome]) -> bool:
    """Whether 99.9 % are within 1e-3 MOS and all within 1e-2, errors included."""
    far = np.array([outcome.difference for outcome in outcomes])
    return bool((far <= 1e-3).mean() >= 0.999 and far.max() <= 1e-2)


def main() -> int:
    """Read the arguments, compare, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--clips", type=Path, help="folder of sound files; default: the dataset of --dataset")
    source.add_argument("--dataset", default="mini")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="number of the first pair")
    parser.add_argument("--mode", action="append", choices=["wb", "nb", "nb8"], help="nb8 is nb at 8 kHz; default: all")
    parser.add_argument("--json", type=Path, help="write every outcome to this file")
    arguments = parser.parse_args()
    clips = clips_in(arguments.clips) if arguments.clips else clips_of_dataset(arguments.dataset)
    if not clips:
        parser.error("no clip of a second or more was found")
    rates = {"wb": ("wb", 16000), "nb": ("nb", 16000), "nb8": ("nb", 8000)}
    modes = [rates[mode] for mode in arguments.mode or rates]
    began = time.monotonic()
    outcomes = compare(clips, range(arguments.first, arguments.first + arguments.count), modes)
    print(f"{len(clips)} clips, {arguments.count} pairs, {time.monotonic() - began:.0f} s")
    print(table(outcomes))
    for outcome in outcomes:
        if outcome.difference > 1e-6:
            print(outcome)
    if arguments.json:
        arguments.json.write_text(json.dumps([vars(outcome) for outcome in outcomes]))
    return 0 if bounds_hold(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
