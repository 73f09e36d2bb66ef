"""Time the compiled pitch against pyworld and against PESQ, and the default metrics against the five published ones.

    python perf/metrics/pitch_speed.py [--dataset mini] [--rounds 7]

One process, one core, in turns; what counts is processor time of this thread, the best of the rounds. The sound is
speech of a dataset, cut to 2, 10 and 30 s, and the same with noise.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from pesq_pairs import clips_of_dataset
from pitch_pairs import CEILING, FLOOR, package, resampled

from codec_superb.metrics.p862 import pesq
from codec_superb.metrics.score import prepare, score_pair
from codec_superb.metrics.table import metrics_for
from codec_superb.metrics.world import tracker

Reals = NDArray[np.float64]

SECONDS = (2, 10, 30)
RATES = (8_000, 16_000, 24_000, 48_000)
FIVE = ("stft", "mel", "pesq", "stoi", "f0corr_praat")
FAST = (("pesq", "fast"),)


def best(rounds: int, *calls: Callable[[], object]) -> list[float]:
    """Return for each call the best of its times in ms, all of them in turns."""
    times = [[np.inf] * rounds for _ in calls]
    for turn in range(-1, rounds):
        for call, own in zip(calls, times, strict=True):
            start = time.thread_time()
            call()
            if turn >= 0:  # the first compiles
                own[turn] = 1e3 * (time.thread_time() - start)
    return [min(own) for own in times]


def pitch(speech: Reals, rounds: int) -> None:
    """Print the trackers for every rate and length, and PESQ of the same speech at 16 kHz."""
    print("| rate | s | pyworld, ms | ours, ms | ratio | PESQ of a pair at 16 kHz, ms |\n" + "|---" * 6 + "|")
    for rate in RATES:
        for seconds in SECONDS:
            wide = speech[: 16_000 * seconds]
            noisy, sound = noised(wide), resampled(wide, 16_000, rate)
            theirs, ours, pair = best(
                rounds,
                lambda: package(sound, rate),  # noqa: B023
                lambda: tracker.track(sound, rate, FLOOR, CEILING),  # noqa: B023
                lambda: pesq(wide, noisy, 16_000),  # noqa: B023
            )
            print(f"| {rate} | {seconds} | {theirs:.1f} | {ours:.2f} | {theirs / ours:.1f} | {pair:.1f} |", flush=True)


def noised(sound: Reals) -> Reals:
    """Return ``sound`` with noise at about 30 dB."""
    return sound + np.random.default_rng(0).normal(0.0, 0.03 * sound.std(), sound.size)


def metrics(speech: Reals, rounds: int) -> None:
    """Print ms per second of sound of the five published metrics and of the default set, with pyworld and without."""
    print("\n| rate | s | the five, ms per s | prepared | default with pyworld | prepared | default | prepared |")
    print("|---" * 8 + "|")
    for rate in (16_000, 48_000):
        for seconds in SECONDS[:2]:
            sound = resampled(speech[: 16_000 * seconds], 16_000, rate)
            cells = []
            for keys, tracked in ((FIVE, None), (metrics_for("speech"), package), (metrics_for("speech"), None)):
                cells += pair_times(sound, rate, keys, rounds, tracked)
            shown = " | ".join(f"{cell / seconds:.2f}" for cell in cells)
            print(f"| {rate} | {seconds} | {shown} |", flush=True)


def pair_times(
    sound: Reals, rate: int, keys: tuple[str, ...], rounds: int, tracked: Callable[[Reals, int], Reals] | None
) -> list[float]:
    """Return ms of a pair and of a resynthesis whose reference is prepared; ``tracked`` stands in for our pitch."""
    noisy = noised(sound)
    own = tracker.track
    with (
        mock.patch.object(tracker, "track", lambda x, r, *_: tracked(x, r))
        if tracked
        else mock.patch.object(tracker, "track", own)
    ):
        reference = prepare(sound, rate)
        return best(
            rounds,
            lambda: score_pair(sound, noisy, rate, keys, backends=FAST),
            lambda: score_pair(reference, noisy, rate, keys, backends=FAST),
        )


def main() -> None:
    """Read the arguments, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="mini")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    speech = np.concatenate(clips_of_dataset(arguments.dataset)).astype(np.float64)
    pitch(speech, arguments.rounds)
    metrics(speech, arguments.rounds)


if __name__ == "__main__":
    main()
