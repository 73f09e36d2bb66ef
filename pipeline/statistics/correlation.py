"""Correlation of several quantities over the same observations (codecs, clips): Pearson's and Spearman's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from codec_superb.pipeline.statistics.jackknife import Floats

Method = Literal["pearson", "spearman"]
FEWEST = 3
"""Smallest number of observations for a coefficient: two points always lie on a line."""


@dataclass(frozen=True, slots=True)
class Correlations:
    """A correlation matrix."""

    coefficients: Floats
    """Shape ``(quantities, quantities)``, between -1 and 1; NaN for fewer than three observations or no variation."""
    n: NDArray[np.int64]
    """Observations with a finite value of both quantities, same shape."""


def correlations(values: Floats, method: Method = "pearson") -> Correlations:
    """Correlate the columns of ``values``, shape ``(observations, quantities)``, pair by pair where both are finite.

    Spearman's coefficient is Pearson's of the ranks among the shared observations; equal values get the mean of their
    ranks. Example: ``[[1, 1], [2, 3], [3, 2]]`` gives 0.5 between the two columns by either method.
    """
    quantities = values.shape[1]
    defined = np.isfinite(values)
    coefficients = np.full((quantities, quantities), np.nan)
    counts = np.zeros((quantities, quantities), dtype=np.int64)
    for one in range(quantities):
        for two in range(one, quantities):
            both = defined[:, one] & defined[:, two]
            counts[one, two] = counts[two, one] = int(both.sum())
            found = _pair(values[both, one], values[both, two], method)
            coefficients[one, two] = coefficients[two, one] = found
    return Correlations(coefficients, counts)


def _pair(one: Floats, two: Floats, method: Method) -> float:
    if len(one) < FEWEST or np.ptp(one) == 0 or np.ptp(two) == 0:
        return float("nan")
    if method == "spearman":
        one, two = ranks(one), ranks(two)
    # Scaled first, so that squares of very large or very small numbers neither overflow nor underflow.
    one, two = ((side - side.mean()) / np.ptp(side) for side in (one, two))
    return float(np.clip((one @ two) / np.sqrt((one @ one) * (two @ two)), -1.0, 1.0))


def ranks(values: Floats) -> Floats:
    """Rank finite values from 1; equal ones get the mean of their ranks: ``[3, 1, 3]`` gives ``[2.5, 1, 2.5]``."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    # equal values share the mean of their ranks, as in scipy.stats.rankdata
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[inverse.reshape(-1)], dtype=np.float64)
