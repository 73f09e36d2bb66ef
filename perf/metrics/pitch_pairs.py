"""Compare the compiled pitch with the package ``pyworld``, frame by frame, on clips and what codecs make of them.

    python perf/metrics/pitch_pairs.py [--dataset mini] [--codecs opus_6k mp3_32k ...]

Every clip as it is and through each codec, at a rate from 8 to 48 kHz that its number chooses. The table shows frames
whose voicing differs and the largest difference in Hz; the exit status is 1 when a bound does not hold.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator

import numpy as np
import soxr
from numpy.typing import NDArray

from codec_superb.base_codec.registry import open_codec
from codec_superb.data_manifests import open_dataset
from codec_superb.metrics.world.tracker import track

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # pyworld 0.3.5 imports the deprecated pkg_resources
    import pyworld

Reals = NDArray[np.float64]

FLOOR, CEILING = 50.0, 1100.0
RATES = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)
CODECS = ("", "opus_6k", "opus_24k", "mp3_16k", "mp3_64k", "codec2_700", "codec2_2400")
"""'' is the clip itself."""
BOUND_HZ = 1e-6
FRAMES_IN_A_RARE_ONE = 10_000
"""One in so many may be further away: beside digital silence the package hears the rounding of its transform."""


def package(samples: Reals, rate: int) -> Reals:
    """Return F0 by pyworld's DIO and StoneMask."""
    coarse, times = pyworld.dio(samples, rate, f0_floor=FLOOR, f0_ceil=CEILING)
    return np.asarray(pyworld.stonemask(samples, coarse, times, rate))


def signals(dataset: str, codecs: tuple[str, ...]) -> Iterator[tuple[str, Reals, int]]:
    """Yield name, samples ``(samples,)`` and rate."""
    opened = {name: open_codec(name) for name in codecs if name}
    data = open_dataset(dataset)
    number = 0
    for clip in map(data.clip, data.clip_ids()):
        sound, own = clip.load()
        mono = np.asarray(sound, dtype=np.float32).mean(axis=0, keepdims=True)
        for name in codecs:
            coded = opened[name].decode(opened[name].encode(mono, own)) if name else mono
            rate = RATES[number % len(RATES)]
            number += 1
            samples = coded[0].astype(np.float64)
            # half of them as 16-bit sound, whose silence is digital
            samples = np.round(samples * 32768.0) / 32768.0 if number % 2 else samples
            yield f"{clip.id} {name or 'original'}", resampled(samples, own, rate), rate


def resampled(samples: Reals, source: int, target: int) -> Reals:
    """Return ``samples`` at ``target`` Hz."""
    return samples if source == target else np.asarray(soxr.resample(samples, source, target, quality="VHQ"))


def main() -> int:
    """Read the arguments, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="mini")
    parser.add_argument("--codecs", nargs="*", default=CODECS)
    arguments = parser.parse_args()
    total = frames = voiced = voicing = beyond = worse = 0
    largest = 0.0
    for name, samples, rate in signals(arguments.dataset, tuple(arguments.codecs)):
        expected, found = package(samples, rate), track(samples, rate, FLOOR, CEILING)
        differing = int(np.count_nonzero((expected > 0.0) != (found > 0.0)))
        away = np.abs(expected - found)[(expected > 0.0) & (found > 0.0)]
        far, most = int(np.count_nonzero(away > BOUND_HZ)), float(away.max(initial=0.0))
        total, frames, voiced = total + 1, frames + expected.size, voiced + int(np.count_nonzero(expected))
        voicing, beyond, largest = voicing + differing, beyond + far, max(largest, most)
        if differing or far:
            worse += 1
            print(
                f"{name} at {rate} Hz: voicing of {differing} frames, F0 of {far}, by {most:.2g} Hz at most", flush=True
            )
    print(
        f"{total} signals, {frames} frames, {voiced} voiced: {voicing} frames differ in voicing, {beyond} by more than "
        f"{BOUND_HZ:g} Hz, at most {largest:.2g} Hz; {worse} signals with any"
    )
    return int(voicing > 0 or beyond > voiced / FRAMES_IN_A_RARE_ONE)


if __name__ == "__main__":
    sys.exit(main())
