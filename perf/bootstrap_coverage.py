"""Measures the coverage of 95 % bootstrap intervals of few clips: percentile, BCa, and this package's method.

Run ``python perf/bootstrap_coverage.py [datasets]``; docs/decisions/0005-bootstrap-intervals.md shows its table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from codec_superb.pipeline.statistics.bootstrap import interval, random_stream, replicate_means

Floats = NDArray[np.float64]
REPLICATES = 1000
NORMAL = NormalDist()


def _clusters(rng: np.random.Generator, size: int) -> Floats:
    """One clip in five is of another kind, as in a dataset of mixed sounds."""
    return np.where(rng.random(size) < 0.2, rng.normal(3, 0.3, size), rng.normal(1, 0.2, size))


SHAPES: dict[str, tuple[Callable[[np.random.Generator, int], Floats], float]] = {
    "normal": (lambda rng, size: rng.normal(0, 1, size), 0.0),
    "lognormal, σ 0.5 (a distance)": (lambda rng, size: rng.lognormal(0, 0.5, size), float(np.exp(0.125))),
    "lognormal, σ 1": (lambda rng, size: rng.lognormal(0, 1, size), float(np.exp(0.5))),
    "beta(8, 1) (STOI)": (lambda rng, size: rng.beta(8, 1, size), 8 / 9),
    "two clusters": (_clusters, 1.4),
}


def plain(_values: Floats, draws: Floats) -> tuple[float, float]:
    """Percentiles at 2.5 % and 97.5 %."""
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(low), float(high)


def bca(values: Floats, draws: Floats) -> tuple[float, float]:
    """Bias-corrected and accelerated percentiles (Efron 1987)."""
    below = float(np.clip((draws < values.mean()).mean(), 1 / REPLICATES, 1 - 1 / REPLICATES))
    bias = NORMAL.inv_cdf(below)
    deviations = values - values.mean()
    acceleration = float((deviations**3).sum() / (6 * (deviations**2).sum() ** 1.5))
    levels = []
    for quantile in (NORMAL.inv_cdf(0.025), NORMAL.inv_cdf(0.975)):
        shifted = bias + quantile
        levels.append(NORMAL.cdf(bias + shifted / (1 - acceleration * shifted)))
    low, high = np.quantile(draws, levels)
    return float(low), float(high)


def expanded(values: Floats, draws: Floats) -> tuple[float, float]:
    """Take what the package computes."""
    found = interval(draws, len(values))
    assert found is not None
    return found


def main(datasets: int) -> None:
    """Print a table of coverage in percent: rows are shapes and numbers of clips."""
    methods = (plain, bca, expanded)
    print("| clips | values | percentile | BCa | expanded percentile |\n|---|---|---|---|---|")
    for clips in (5, 8, 15, 30, 100):
        for name, (draw, truth) in SHAPES.items():
            rng = np.random.default_rng(clips)
            hits = np.zeros(len(methods))
            for number in range(datasets):
                values = draw(rng, clips)
                draws = replicate_means(values[:, np.newaxis], REPLICATES, random_stream(number, name))[:, 0]
                for position, method in enumerate(methods):
                    low, high = method(values, draws)
                    hits[position] += low <= truth <= high
            print(
                f"| {clips} | {name} | " + " | ".join(f"{100 * hit / datasets:.1f}" for hit in hits) + " |", flush=True
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
