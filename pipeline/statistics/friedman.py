"""Ranks of several systems over several datasets: Friedman's test, and Nemenyi's critical difference.

After Demšar, Statistical Comparisons of Classifiers over Multiple Data Sets, JMLR 7 (2006), section 3.2: each dataset
ranks the systems (1 is the best, equal values share the mean of their ranks), Friedman's test asks whether the mean
ranks differ at all, and two systems differ where their mean ranks are further apart than
CD = q(alpha) sqrt(k (k + 1) / (6 N)) for k systems on N datasets, q being the quantile of the studentised range divided
by sqrt(2). The F statistic of Iman and Davenport (1980) is less conservative than Friedman's chi-square. Kendall's
W = chi-square / (N (k - 1)) is the effect size: 1 where all datasets rank alike, 0 where nothing is left of an order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.statistics.jackknife import Floats

ALPHA = 0.05
FEWEST_SYSTEMS, FEWEST_DATASETS = 3, 2
ENOUGH_DATASETS, ENOUGH_SYSTEMS = 10, 5
"""Numbers above which the distribution of chi-square is a good one (Demšar 2006, section 3.2.2)."""


@dataclass(frozen=True, slots=True)
class MeanRank:
    """One system."""

    name: str
    mean_rank: float
    """Over the datasets; 1 is the best."""
    ranks: tuple[float, ...]
    """On each dataset, in their order."""


@dataclass(frozen=True, slots=True)
class MeanRanks:
    """Systems over datasets."""

    datasets: tuple[str, ...]
    systems: tuple[MeanRank, ...]
    """Best first."""
    chi_square: float
    """Friedman's statistic, corrected for equal ranks, with k - 1 degrees of freedom."""
    p: float
    """Of that statistic."""
    f: float | None
    """Iman and Davenport's statistic; None where all datasets rank alike, where it has no bound."""
    p_f: float
    """Of that statistic, with k - 1 and (k - 1) (N - 1) degrees of freedom."""
    kendall_w: float
    alpha: float
    critical_difference: float
    """Nemenyi's, at ``alpha``."""
    groups: tuple[tuple[int, int], ...]
    """Largest runs of systems, by first and last position, that do not differ by more than the critical difference."""

    @property
    def rough(self) -> bool:
        """Whether there are too few datasets or systems for the distributions of the tests to be good ones."""
        return len(self.datasets) <= ENOUGH_DATASETS or len(self.systems) <= ENOUGH_SYSTEMS


def mean_ranks(
    values: Floats,
    systems: Sequence[str],
    datasets: Sequence[str],
    *,
    higher_is_better: bool = True,
    alpha: float = ALPHA,
) -> MeanRanks:
    """Rank ``values`` of shape ``(datasets, systems)``, all finite.

    Raises PipelineError for fewer than three systems or two datasets.
    """
    blocks, count = len(datasets), len(systems)
    if count < FEWEST_SYSTEMS or blocks < FEWEST_DATASETS:
        raise PipelineError(
            f"expected at least {FEWEST_SYSTEMS} codecs that all have a value on each of at least {FEWEST_DATASETS} "
            f"datasets, got {count} on {blocks}: give more runs; for two codecs see compare"
        )
    from scipy.stats import f, friedmanchisquare, rankdata, studentized_range

    # rounded: equal values must share a rank although their sums are rounded differently
    places = rankdata(np.round(-values if higher_is_better else values, 12), axis=1)
    found = places.mean(axis=0)
    if (places == places[:, :1]).all():
        chi, p = 0.0, 1.0  # nothing differs anywhere: the correction for equal ranks would divide by 0
    else:
        chi, p = map(float, friedmanchisquare(*places.T))
    rest = blocks * (count - 1) - chi
    # identical orders everywhere: chi-square has its largest value, up to rounding
    statistic = (blocks - 1) * chi / rest if rest > 1e-9 * blocks * count else None
    p_f = 0.0 if statistic is None else float(f.sf(statistic, count - 1, (count - 1) * (blocks - 1)))
    quantile = float(studentized_range.ppf(1 - alpha, count, np.inf)) / math.sqrt(2)
    difference = quantile * math.sqrt(count * (count + 1) / (6 * blocks))
    order = sorted(range(count), key=lambda place: (found[place], systems[place]))
    ordered = tuple(MeanRank(systems[n], float(found[n]), tuple(map(float, places[:, n]))) for n in order)
    return MeanRanks(
        datasets=tuple(datasets),
        systems=ordered,
        chi_square=chi,
        p=p,
        f=statistic,
        p_f=p_f,
        kendall_w=chi / (blocks * (count - 1)),
        alpha=alpha,
        critical_difference=difference,
        groups=_groups([system.mean_rank for system in ordered], difference),
    )


def _groups(ranks: Sequence[float], difference: float) -> tuple[tuple[int, int], ...]:
    """Find the largest runs of two or more ascending ranks within ``difference``."""
    runs: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        last = max(n for n, other in enumerate(ranks) if other - rank <= difference)
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return tuple(runs)
