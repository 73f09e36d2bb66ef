"""Bootstrap of means over clusters of clips: reproducible draws, from which ranks and shares of draws are taken.

Intervals of values and differences draw nothing (:mod:`codec_superb.pipeline.statistics.jackknife`). Clips of one
cluster (a recording, a speaker) are drawn together. Draws of few clusters miss the factor n/(n-1) of the variance and
the heavier tail of the t distribution (Hesterberg 2015, "What teachers should know about the bootstrap", section 5),
and are spread by both before ranges are read from them.

Reproducibility: numpy guarantees the raw output of PCG64 for a seed, but not the stream of ``Generator.integers``
(its compatibility policy, NEP 19), so indices are derived from raw output here; a server with another numpy then
draws the same clips.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from codec_superb.pipeline.statistics.jackknife import CONFIDENCE, Floats

# the 2.5 % level of 1,000 replicates rests on 25 of them
REPLICATES: Final = 1000
_BLOCK = 1 << 20
"""Random numbers per block of replicates, which limits the memory of resampling to 8 MiB."""


def replicate_means(
    values: Floats, replicates: int, bits: np.random.PCG64, clusters: NDArray[np.int64] | None = None
) -> Floats:
    """Means of ``replicates`` resamples of the clusters of clips, all columns resampled together.

    ``values`` has shape ``(clips, columns)``, NaN where a clip has no value, ``clusters`` numbers the cluster of each
    clip from 0 (None: each clip is its own). The result has shape ``(replicates, columns)``, each entry the mean over
    the resampled clips that have a value, NaN where none has.
    """
    clips, columns = values.shape
    if clips == 0:
        return np.full((replicates, columns), np.nan)
    defined = np.isfinite(values)
    centre = np.array([mean(values[:, column]) for column in range(columns)])
    # Centred first, so that the mean of equal values is exact in every replicate.
    table = np.hstack([np.where(defined, values - centre, 0.0), defined.astype(np.float64)])
    if clusters is not None:  # sums over each cluster
        clipwise, table = table, np.zeros((int(clusters.max()) + 1, 2 * columns))
        np.add.at(table, clusters, clipwise)
    sums = np.vstack([counts @ table for counts in drawn_counts(len(table), replicates, bits)])
    # A mean lies between its smallest and largest value; rounding must not make a distance negative.
    lowest = np.where(defined, values, np.inf).min(axis=0)
    highest = np.where(defined, values, -np.inf).max(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.clip(sums[:, :columns] / sums[:, columns:] + centre, lowest, highest))


def drawn_counts(units: int, replicates: int, bits: np.random.PCG64) -> Iterator[Floats]:
    """How often each unit (clip or cluster) is drawn, in blocks of shape ``(some replicates, units)``."""
    # 8 MB of counts at a time, whatever their number
    rows = max(1, _BLOCK // units)
    for start in range(0, replicates, rows):
        size = min(rows, replicates - start)
        raw = np.asarray(bits.random_raw(size * units), dtype=np.uint64)
        # Multiply-shift (Lemire 2019, without rejection): upper 32 bits times units, bias below units / 2**32.
        drawn = ((raw >> np.uint64(32)) * np.uint64(units) >> np.uint64(32)).astype(np.int64)
        offsets = np.repeat(np.arange(size) * units, units)
        yield np.bincount(drawn + offsets, minlength=size * units).reshape(size, units).astype(np.float64)


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


def widening(n: int) -> float:
    """Factor by which draws of ``n`` units spread too little: 1.06 for 30, 1.87 for 4, 1 for many."""
    from scipy.special import stdtrit

    # Student's t and n - 1, which percentiles of draws lack; Hesterberg 2015, section 5
    level = (1 + CONFIDENCE) / 2
    return math.sqrt(n / (n - 1)) * float(stdtrit(n - 1, level)) / NormalDist().inv_cdf(level)
