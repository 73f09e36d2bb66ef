"""Measures how often a bitrate band says what is not so: simulated codecs, the band's own tests (decision 31).

    python perf/band_winners.py [--bands 1500]

Each clip is as hard for all codecs, with independent noise of the same size; a clip is its own cluster. The first codec
is always one of the best. Per cent of bands in which it is left out of those that cannot be told from the best, and in
which a winner is named although two are equal.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from codec_superb.pipeline.statistics.effect import paired_test
from codec_superb.server.ranking.bands import ALPHA, holm
from codec_superb.server.ranking.pairs import is_ahead, p_value


def simulate(random: np.random.Generator, clips: int, worse: Sequence[float], bands: int) -> tuple[float, float]:
    """Return both shares, in per cent; ``worse`` is how far each codec lies below the best, in units of the noise."""
    left_out = named = 0
    numbers = np.arange(clips)
    for _ in range(bands):
        values = random.normal(size=(clips, 1)) + random.normal(size=(clips, len(worse))) - np.array(worse)
        best = int(values.mean(axis=0).argmax())
        others = [place for place in range(len(worse)) if place != best]
        tests = [paired_test(values[:, best] - values[:, place], numbers) for place in others]
        adjusted = holm([p_value(test) or 0.0 for test in tests], len(others))
        near = [
            place
            for place, test, after in zip(others, tests, adjusted, strict=True)
            if after >= ALPHA or not is_ahead(test)
        ]
        left_out += best != 0 and 0 not in near
        named += not near
    return 100 * left_out / bands, 100 * named / bands


def main() -> None:
    """Print a row for each shape of a band."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bands", type=int, default=1500)
    bands = parser.parse_args().bands
    random = np.random.default_rng(0)
    print("codecs  clips  best         a best one left out, %  a winner named, %")
    for codecs in (2, 5, 20):
        for clips in (6, 25, 200):
            for name, worse in (("all equal", [0.0] * codecs), ("two equal", [0.0, 0.0] + [1.0] * (codecs - 2))):
                left_out, named = simulate(random, clips, worse, bands)
                print(f"{codecs:6}  {clips:5}  {name:<11}  {left_out:22.1f}  {named:17.1f}", flush=True)


if __name__ == "__main__":
    main()
