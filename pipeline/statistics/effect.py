"""A test and effect sizes of paired differences, with one observation a cluster of clips.

Clips of one speaker or recording are no independent evidence, so that each cluster counts once, by the mean of its
differences. The test is Wilcoxon's for signed ranks (Biometrics Bulletin 1945; the choice of Demšar, JMLR 2006, for two
systems), two-sided and not corrected for the number of metrics. Effect sizes:

matched-pairs rank-biserial correlation (Kerby, Comprehensive Psychology 2014)
    r = (R+ - R-) / (R+ + R-), with the sums of the ranks of |d| over the clusters where the first codec is better and
    where it is worse; clusters without a difference have no rank. 1: better everywhere, 0: as often and as much worse.
Cohen's d_z (Statistical Power Analysis for the Behavioral Sciences, 1988, section 2.3.5)
    d_z = mean(d) / sd(d), the standard deviation with n - 1.
"""

from __future__ import annotations

import math

import numpy as np
from pydantic import FiniteFloat

from codec_superb.pipeline.statistics.bootstrap import mean, standard_deviation
from codec_superb.pipeline.statistics.jackknife import Floats, Numbers
from codec_superb.record import Record

FEWEST = 2
"""Smallest number of clusters with a difference for a test; it cannot be significant below six."""


class PairedTest(Record):
    """The first codec against the second on one metric; positive effects: the first is better."""

    clusters: int
    """Clusters of clips (speakers, recordings), each of which is one observation."""
    p: FiniteFloat | None
    """Two-sided p-value of Wilcoxon's signed-rank test; None for fewer than two clusters with a difference."""
    rank_biserial: FiniteFloat | None
    """Matched-pairs rank-biserial correlation, between -1 and 1; None where no cluster differs."""
    cohen_dz: FiniteFloat | None
    """Cohen's d_z; None for fewer than two clusters, and where all differ by the same amount."""


def paired_test(ahead: Floats, clusters: Numbers) -> PairedTest:
    """Test differences of clips, shape ``(clips,)``, positive where the first codec is better, all of them finite.

    ``clusters`` numbers the cluster of each clip; equal numbers are one cluster.
    """
    _, numbers = np.unique(clusters, return_inverse=True)
    counts = np.bincount(numbers)
    gaps = np.bincount(numbers, weights=ahead) / counts if len(counts) else np.zeros(0)
    # sums of equal values are rounded differently: a difference beyond that is none
    gaps = np.where(np.abs(gaps) <= 1e-12 * np.abs(ahead).max(initial=0.0), 0.0, gaps)
    spread = standard_deviation(gaps)
    centre = mean(gaps)
    steady = not spread > 1e-12 * abs(centre)  # also where it is not known
    return PairedTest(
        clusters=len(gaps),
        p=_wilcoxon(gaps[gaps != 0]),
        rank_biserial=_rank_biserial(gaps[gaps != 0]),
        cohen_dz=None if steady or math.isnan(spread) else centre / spread,
    )


def _wilcoxon(gaps: Floats) -> float | None:
    if len(gaps) < FEWEST:
        return None
    from scipy.stats import wilcoxon

    return float(wilcoxon(gaps).pvalue)


def _rank_biserial(gaps: Floats) -> float | None:
    if not len(gaps):
        return None
    from scipy.stats import rankdata

    ranks = rankdata(np.abs(gaps))
    return float((ranks * np.sign(gaps)).sum() / ranks.sum())
