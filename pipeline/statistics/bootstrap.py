"""Bootstrap of means over clips: reproducible resampling, replicates of means, intervals that hold for few clips.

Intervals are percentile intervals at widened levels (Hesterberg 2015, "What teachers should know about the bootstrap",
section 5): the plain percentile interval is too narrow for few clips, because replicates miss the factor n/(n-1) of
the variance and the heavier tail of the t distribution. Both are put into the level at which the percentiles are
taken. ``docs/decisions/0005-bootstrap-intervals.md`` has the simulation that decided against plain and BCa intervals.

Reproducibility: the raw output of numpy's PCG64 is fixed for good, unlike that of ``Generator.integers``, so indices
are made from it here; a server with another numpy then recomputes the same intervals.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
METHOD: Final = "expanded-percentile-1"
"""Name of resampling and interval together; a change of numbers changes it."""
_BLOCK = 1 << 20
"""Numbers of one block of replicates: what resampling holds in memory, 8 MiB."""

Floats = NDArray[np.float64]


def random_stream(seed: int, *names: str) -> np.random.PCG64:
    """Random bits that depend on the seed and the names only, so that adding a dataset changes no other interval."""
    digest = hashlib.sha256("\x1f".join([str(seed), *names]).encode()).digest()
    return np.random.PCG64(int.from_bytes(digest[:16], "little"))


def replicate_means(values: Floats, replicates: int, bits: np.random.PCG64) -> Floats:
    """Means of ``replicates`` resamples of the clips, all columns resampled together.

    ``values`` has shape ``(clips, columns)``, NaN where a clip has no value; the result has shape
    ``(replicates, columns)``, each entry the mean over the resampled clips that have a value, NaN where none has.
    """
    clips, columns = values.shape
    if clips == 0:
        return np.full((replicates, columns), np.nan)
    defined = np.isfinite(values)
    centre = np.array([mean(values[:, column]) for column in range(columns)])
    # Centred first: the mean of equal values is then exactly that value in every replicate.
    table = np.hstack([np.where(defined, values - centre, 0.0), defined.astype(np.float64)])
    sums = np.vstack([counts @ table for counts in drawn_counts(clips, replicates, bits)])
    # A mean lies between its values; rounding must not carry a distance below 0.
    lowest = np.where(defined, values, np.inf).min(axis=0)
    highest = np.where(defined, values, -np.inf).max(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.clip(sums[:, :columns] / sums[:, columns:] + centre, lowest, highest))


def drawn_counts(clips: int, replicates: int, bits: np.random.PCG64) -> Iterator[Floats]:
    """How often each clip is drawn in each replicate, in blocks of shape ``(some replicates, clips)``."""
    rows = max(1, _BLOCK // clips)
    for start in range(0, replicates, rows):
        size = min(rows, replicates - start)
        raw = np.asarray(bits.random_raw(size * clips), dtype=np.uint64)
        # The upper 32 bits times the number of clips, shifted down: uniform to within clips / 2**32.
        drawn = ((raw >> np.uint64(32)) * np.uint64(clips) >> np.uint64(32)).astype(np.int64)
        offsets = np.repeat(np.arange(size) * clips, clips)
        yield np.bincount(drawn + offsets, minlength=size * clips).reshape(size, clips).astype(np.float64)


def mean(values: Floats) -> float:
    """Mean of the finite values, exactly rounded and so the same in any order; NaN without one."""
    finite = values[np.isfinite(values)]
    return math.fsum(finite.tolist()) / len(finite) if len(finite) else math.nan


def standard_deviation(values: Floats) -> float:
    """Sample standard deviation (n - 1) of the finite values; NaN for fewer than two."""
    finite = values[np.isfinite(values)]
    if len(finite) < 2:  # noqa: PLR2004 -- one value has no spread
        return math.nan
    return math.sqrt(math.fsum(((finite - mean(finite)) ** 2).tolist()) / (len(finite) - 1))


def lower_tail(n: int) -> float:
    """Level of the lower percentile of a 95 % interval over ``n`` clips: 0.001 for 5, 0.019 for 30, 0.025 for many."""
    from scipy.special import stdtrit

    quantile = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2))
    return NormalDist().cdf(-math.sqrt(n / (n - 1)) * quantile)


def interval(replicates: Floats, n: int) -> tuple[float, float] | None:
    """95 % interval from replicates of a statistic that rests on ``n`` clips (of the smallest dataset among several).

    None where nothing can be said: fewer than two clips, or a statistic that is undefined in more than one replicate
    in twenty (a metric that has a value on hardly any clip).
    """
    finite = replicates[np.isfinite(replicates)]
    if n < 2 or len(finite) < CONFIDENCE * len(replicates):  # noqa: PLR2004 -- one clip has no spread
        return None
    level = lower_tail(n)
    low, high = np.quantile(finite, [level, 1 - level])
    return float(low), float(high)
