"""Time what people get by default on real pairs, against the published composition of five metrics: ``make perf``.

The speech of `mini` (23 clips) through ``opus_12k``, one thread, both sides in turns, best of the rounds. *Prepared* is
a resynthesis whose reference was analysed before, as it is for every codec of a command but the first.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
from scoring import METRICS, Reference, Samples, machine, restart_with_one_thread

from codec_superb.base_codec.registry import open_codec
from codec_superb.data_manifests import open_dataset
from codec_superb.metrics.score import prepare, score_pair
from codec_superb.metrics.table import metrics_for

CODEC = "opus_12k"
PUBLISHED = "published, five (PESQ twice)"
"""The published `get_metrics` calls PESQ twice for each pair."""


def pairs() -> Iterator[tuple[Samples, Samples, int]]:
    """Yield reference, resynthesis and rate of each mono clip of speech."""
    codec, dataset = open_codec(CODEC), open_dataset("mini")
    for identity in dataset.clip_ids():
        clip = dataset.clip(identity)
        if clip.category == "speech":
            audio, rate = clip.load()
            resynthesis = codec.decode(codec.encode(audio, rate))
            yield audio.mean(axis=0, dtype=np.float64), resynthesis.mean(axis=0, dtype=np.float64), rate


def best(function: Callable[[], object], rounds: int) -> float:
    """Return the shortest processor time in seconds of ``rounds`` calls, after one that is not counted."""
    function()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def main() -> int:
    """Print a Markdown table: times real time, and against the published composition."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=6)
    options = parser.parse_args()
    restart_with_one_thread()
    functions, default = Reference().functions(), list(metrics_for("speech"))
    totals: dict[str, float] = {}
    seconds = 0.0
    print(machine())
    for x, y, rate in pairs():
        seconds += x.size / rate
        prepared = prepare(x, rate)
        sides: dict[str, Callable[[], object]] = {
            PUBLISHED: lambda x=x, y=y, rate=rate: [
                theirs(x, y, rate) for theirs in (*functions.values(), functions["pesq"])
            ],
            "published, PESQ once": lambda x=x, y=y, rate=rate: [f(x, y, rate) for f in functions.values()],
            "the same five": lambda x=x, y=y, rate=rate: score_pair(x, y, rate, METRICS),
            "the same five, prepared": lambda p=prepared, y=y, rate=rate: score_pair(p, y, rate, METRICS),
            "default": lambda x=x, y=y, rate=rate: score_pair(x, y, rate, default),
            "default, prepared": lambda p=prepared, y=y, rate=rate: score_pair(p, y, rate, default),
        }
        for name, call in sides.items():
            totals[name] = totals.get(name, 0.0) + best(call, options.rounds)
    print(f"\n{seconds:.0f} s of sound; default: {', '.join(default)}\n")
    print("| metrics | × real time | × published |\n|---|---|---|")
    for name, total in totals.items():
        print(f"| {name} | {seconds / total:.0f} | {totals[PUBLISHED] / total:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
