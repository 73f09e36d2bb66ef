"""Bootstrap of means over clips: reproducible resampling, replicates of means, intervals for small samples.

Intervals are percentile intervals at widened levels (Hesterberg 2015, "What teachers should know about the bootstrap",
section 5): the plain percentile interval is too narrow for few clips, because replicates miss the factor n/(n-1) of
the variance and the heavier tail of the t distribution. Both are corrected in the level at which the percentiles are
taken. ``docs/decisions/0005-bootstrap-intervals.md`` has the simulation that decided against plain and BCa intervals.

Reproducibility: numpy guarantees the raw output of PCG64 for a seed, but not the stream of ``Generator.integers``
(its compatibility policy, NEP 19), so indices are derived from raw output here; a server with another numpy then
recomputes the same intervals.
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
"""Name of resampling and interval method; changed with any change of results."""
_BLOCK = 1 << 20
"""Random numbers per block of replicates, which limits the memory of resampling to 8 MiB."""

Floats = NDArray[np.float64]


def random_stream(seed: int, *names: str) -> np.random.PCG64:
    """Random generator that depends on the seed and names only, so that adding a dataset changes no other interval."""
    digest = hashlib.sha256("\x1f".join([str(seed), *names]).encode()).digest()
    # 128 bits of seed; numpy promises the streams of bit generators, not those of distributions (NEP 19)
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
    # Centred first, so that the mean of equal values is exact in every replicate.
    table = np.hstack([np.where(defined, values - centre, 0.0), defined.astype(np.float64)])
    sums = np.vstack([counts @ table for counts in drawn_counts(clips, replicates, bits)])
    # A mean lies between its smallest and largest value; rounding must not make a distance negative.
    lowest = np.where(defined, values, np.inf).min(axis=0)
    highest = np.where(defined, values, -np.inf).max(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.clip(sums[:, :columns] / sums[:, columns:] + centre, lowest, highest))


def drawn_counts(clips: int, replicates: int, bits: np.random.PCG64) -> Iterator[Floats]:
    """How often each clip is drawn in each replicate, in blocks of shape ``(some replicates, clips)``."""
    # 8 MB of counts at a time, whatever the number of clips
    rows = max(1, _BLOCK // clips)
    for start in range(0, replicates, rows):
        size = min(rows, replicates - start)
        raw = np.asarray(bits.random_raw(size * clips), dtype=np.uint64)
        # Multiply-shift (Lemire 2019, without rejection): upper 32 bits times clips, bias below clips / 2**32.
        drawn = ((raw >> np.uint64(32)) * np.uint64(clips) >> np.uint64(32)).astype(np.int64)
        offsets = np.repeat(np.arange(size) * clips, clips)
        yield np.bincount(drawn + offsets, minlength=size * clips).reshape(size, clips).astype(np.float64)


def mean(values: Floats) -> float:
    """Mean of the finite values, exactly rounded and so the same in any order; NaN without one."""
    finite = values[np.isfinite(values)]
    # exactly rounded: the order of clips and the number of workers change no digit
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

    # Student's t, which the normal quantile of a percentile interval lacks; Hesterberg 2015, equation in decision 5
    quantile = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2))
    return NormalDist().cdf(-math.sqrt(n / (n - 1)) * quantile)


def interval(replicates: Floats, n: int) -> tuple[float, float] | None:
    """95 % interval from replicates of a statistic over ``n`` clips (of the smallest dataset among several).

    None for fewer than two clips, and for a statistic that is undefined in more than 5 % of the replicates (a metric
    with a value on very few clips).
    """
    finite = replicates[np.isfinite(replicates)]
    if n < 2 or len(finite) < CONFIDENCE * len(replicates):  # noqa: PLR2004 -- one clip has no spread
        return None
    level = lower_tail(n)
    low, high = np.quantile(finite, [level, 1 - level])
    return float(low), float(high)
