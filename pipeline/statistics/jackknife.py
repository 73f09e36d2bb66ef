"""Intervals from leaving out one cluster at a time, for every statistic alike.

Clips of one recording or speaker are no independent evidence, so that the unit is the cluster
(:attr:`~codec_superb.pipeline.tables.rows.ResynthesisRow.cluster`). A statistic is computed again without each of them,
on a scale that ends nowhere (the logarithm of a distance, the logit of a share). From these values follow its standard
error and its skewness; the interval is Student's, with as many degrees of freedom as there are effective clusters, less
one, and bent by Hall's cubic for the skewness, by a third of its length at most. With few clusters it spans this
interval, shortened, and the one on the statistic's own scale. Nothing is drawn at random.
``docs/decisions/0016-clustered-intervals.md`` has the simulation that decided for it.

Sources: Efron and Stein, The Jackknife Estimate of Variance, Annals of Statistics 1981; Hall, On the Removal of
Skewness by Transformation, Journal of the Royal Statistical Society B 1992; Carter, Schnepel and Steigerwald,
Asymptotic Behavior of a t-Test Robust to Cluster Heterogeneity, Review of Economics and Statistics 2017 (effective
clusters).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

CONFIDENCE = 0.95
METHOD: Final = "cluster-jackknife-2"
"""Name of the kind of interval; changed with any change of results."""
BEND = 0.6
"""Limit of skewness times quantile: Hall's cubic lengthens one side by a third there, and without limit soon after."""
FEW = 10
"""Effective clusters from which on the scale without ends stands alone; Student's t is 2.3 there, and 3.6 for 3.5."""
REACH = 1.5
"""With fewer, how far an end may lie on that scale: 4.5 times the distance or the odds, since t bursts its ends."""
GROUPS = 200
"""Clusters beyond this number are left out several at a time: 199 degrees of freedom lack nothing."""


@dataclass(frozen=True, slots=True)
class Jackknife:
    """A statistic (or an array of them), and what it is without each group of clusters."""

    point: Floats
    left_out: tuple[Floats, ...]
    """For each dataset, which are independent: shape ``(groups, *point.shape)``; NaN where nothing is left."""
    shares: tuple[Floats, ...]
    """For each dataset, which part of the clips behind the statistic each group has, shape ``(groups,)``; a group with
    none is no evidence."""

    def column(self, position: int) -> Jackknife:
        """Return one statistic of a row of them."""
        return self.map(lambda table: table[..., position])

    def map(self, function: Callable[[Floats], Floats]) -> Jackknife:
        """Return a function of the statistics, element-wise over groups."""
        left_out = tuple(np.asarray(function(table)) for table in self.left_out)
        return Jackknife(np.asarray(function(self.point)), left_out, self.shares)


def combine(function: Callable[[Sequence[Floats]], Floats], parts: Sequence[Jackknife]) -> Jackknife:
    """Return a statistic of several datasets: clusters of one are left out while the others are whole."""
    points = [part.point for part in parts]
    tables = []
    for place, part in enumerate(parts):
        for table in part.left_out:
            others = [np.broadcast_to(point, (len(table), *point.shape)) for point in points]
            tables.append(function([*others[:place], table, *others[place + 1 :]]))
    return Jackknife(np.asarray(function(points)), tuple(tables), tuple(s for part in parts for s in part.shares))


def numbered(clusters: Sequence[str]) -> Numbers:
    """Return the number of each clip's cluster, from 0, by name."""
    place = {name: number for number, name in enumerate(sorted(set(clusters)))}
    return np.array([place[name] for name in clusters], dtype=np.int64)


def means(values: Floats, clusters: Numbers, centre: Floats) -> Jackknife:
    """Means of the columns of ``values`` (NaN: no value), whose means over all clips are ``centre``.

    ``clusters`` numbers the cluster of each clip from 0, without a gap.
    """
    defined = np.isfinite(values)
    groups = clusters % GROUPS
    count = int(groups.max(initial=-1)) + 1
    if not count:
        return Jackknife(centre, (np.zeros((0, *centre.shape)),), (np.zeros(0),))
    # Centred first, so that means of equal values are exact.
    kept = (np.where(defined, values - centre, 0.0), defined.astype(np.float64))
    sums, n = (np.zeros((count, values.shape[1])) for _ in kept)
    for table, part in zip((sums, n), kept, strict=True):
        np.add.at(table, groups, part)
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = centre + (sums.sum(axis=0) - sums) / (n.sum(axis=0) - n)
    # A mean lies between its smallest and largest value; rounding must not make a distance negative.
    rest = np.clip(rest, np.where(defined, values, np.inf).min(axis=0), np.where(defined, values, -np.inf).max(axis=0))
    # A group without a value of this column changes nothing; of others, that have one, the score may rest too.
    return Jackknife(centre, (np.where((n == 0) & np.isfinite(centre), centre, rest),), (shares_of(groups, count),))


def shares_of(groups: Numbers, count: int) -> Floats:
    """Return the part of the clips that each of ``count`` groups has, from the number of each clip's group."""
    return np.bincount(groups, minlength=count) / max(1, len(groups))


def interval(found: Jackknife, lowest: float = -math.inf, highest: float = math.inf) -> tuple[float, float] | None:
    """Return the ends of the 95 % interval of a statistic that lies between ``lowest`` and ``highest``, in its unit.

    None for a dataset with fewer than two effective clusters (of 22 clips 20 by one speaker, say), and where the
    statistic is undefined without one of them. A statistic that is the same without each (a lossless codec, no error at
    all) has an interval without width.
    """
    point = float(found.point)
    effective = [1.0 / float((share**2).sum()) if share.any() else 0.0 for share in found.shares]
    if min(effective, default=0.0) < 2.0 - 1e-9:
        return None
    tables = [np.append(table, point) for table in found.left_out]
    if not all(np.isfinite(table).all() for table in tables):
        return None
    low, high = (point - arm for arm in _arms(tables, found.shares, effective))
    own = _clipped(low, lowest, highest), _clipped(high, lowest, highest)
    if not all(((table > lowest) & (table < highest)).all() for table in tables):
        return own  # without one group the statistic stands at an end, where the other scale has none
    unbounded = [_unbounded(table, lowest, highest) for table in tables]
    few = min(effective) < FEW - 1e-9
    reach = REACH if few else math.inf
    arms = (_clipped(arm, -reach, reach) for arm in _arms(unbounded, found.shares, effective))
    low, high = (_bounded(float(unbounded[0][-1]) - arm, lowest, highest) for arm in arms)
    return (min(low, own[0]), max(high, own[1])) if few else (low, high)


def _arms(tables: Sequence[Floats], shares: Sequence[Floats], effective: Sequence[float]) -> tuple[float, float]:
    """Return how far the ends lie below the statistic, the lower one first.

    A table has the values of a dataset without each group, and that of all clips last.
    """
    # To the first order a group's influence is its gap less its share: without a large one, few clips are left
    gaps = [(table[-1] - table[:-1]) * (1 - share) for table, share in zip(tables, shares, strict=True)]
    counts = [int(np.count_nonzero(share)) for share in shares]
    variances = [float((gap**2).sum()) * count / (count - 1) for gap, count in zip(gaps, counts, strict=True)]
    error = math.sqrt(math.fsum(variances))
    if error <= 1e-12 * max(1.0, abs(float(tables[0][-1]))):
        return 0.0, 0.0
    # Welch and Satterthwaite: degrees of freedom of a sum of variances
    freedom = math.fsum(variances) ** 2 / math.fsum(v**2 / (g - 1) for v, g in zip(variances, effective, strict=True))
    skew = math.fsum(float((gap**3).sum()) for gap in gaps) / math.fsum(float((gap**2).sum()) for gap in gaps) ** 1.5
    quantile = _quantile(freedom)
    bent = max(-BEND / quantile, min(BEND / quantile, skew))
    return error * _unskewed(quantile, bent), error * _unskewed(-quantile, bent)


def _quantile(freedom: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))


def _unskewed(quantile: float, skew: float) -> float:
    """Quantile of the studentised statistic: Hall's transformation (1992, section 2), inverted."""
    if abs(skew) < 1e-9:  # noqa: PLR2004 -- the limit
        return quantile
    return 3.0 / skew * (math.cbrt(1.0 + skew * (quantile - skew / 6.0)) - 1.0)


def _unbounded(values: Floats, lowest: float, highest: float) -> Floats:
    """Map a range to the whole line: logit where both ends are finite, logarithm where one is."""
    if math.isinf(lowest) and math.isinf(highest):
        return values
    if math.isinf(highest):
        return np.log(values - lowest)
    if math.isinf(lowest):
        return -np.log(highest - values)
    return np.log(values - lowest) - np.log(highest - values)


def _bounded(value: float, lowest: float, highest: float) -> float:
    """Invert :func:`_unbounded`."""
    if math.isinf(lowest) and math.isinf(highest):
        return value
    grown = math.exp(min(value, 700.0)) if math.isinf(highest) else math.exp(min(-value, 700.0))
    if math.isinf(highest):
        return lowest + grown
    if math.isinf(lowest):
        return highest - grown
    return lowest + (highest - lowest) / (1.0 + grown)


def _clipped(value: float, lowest: float, highest: float) -> float:
    return min(max(value, lowest), highest)
