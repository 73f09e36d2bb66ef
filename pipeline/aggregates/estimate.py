"""An application metric on both sides with its values without each cluster, from which intervals follow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.metric_functions import Floats
from codec_superb.applications.probe import SIDES, ProbeMetric
from codec_superb.metrics.noise.random_numbers import random_stream
from codec_superb.metrics.results import Score
from codec_superb.pipeline.aggregates.evidence import PairedEvidence, is_computed_from_pairs, probe_metric_function
from codec_superb.pipeline.aggregates.interval import score_of
from codec_superb.pipeline.statistics.bootstrap import drawn_counts
from codec_superb.pipeline.statistics.jackknife import GROUPS, Jackknife, shares_of


class ClusteredEstimate(NamedTuple):
    """A figure on both sides: reference, then resynthesis."""

    found: Jackknife
    """Shape ``(2,)``, both without the same clusters."""
    n: int
    """Clips that take part."""

    def scores(self, figure: ProbeMetric) -> dict[str, Score]:
        """Return value and interval of each side and of the loss."""
        ends = figure.minimum, figure.maximum
        sign = 1.0 if figure.higher_is_better else -1.0
        found = {str(name): score_of(self.found.column(side), *ends) for side, name in enumerate(SIDES)}
        # reference minus resynthesis without each cluster: the loss is paired
        found["loss"] = score_of(self.found.map(lambda table: sign * (table[..., 0] - table[..., 1])))
        if figure.interval:
            return found
        return {name: score.model_copy(update={"low": None, "high": None}) for name, score in found.items()}


def estimate(sides: PairedEvidence) -> Mapping[ProbeMetric, ClusteredEstimate]:
    """Compute a probe's figures, on all clips and without each group of clusters."""
    figures, count = sides.probe.metrics, len(sides.clips)
    if not count:
        nothing = ClusteredEstimate(Jackknife(np.full(2, np.nan), (np.zeros((0, 2)),), (np.zeros(0),)), 0)
        return dict.fromkeys(figures, nothing)
    groups = sides.clusters % GROUPS
    kept = (groups != np.arange(groups.max() + 1)[:, None]).astype(np.float64)
    # the point estimate is the weighting that holds each clip once
    values = _weighted(sides, [np.ones((1, count)), kept])
    found = {}
    for figure, table in values.items():
        counts = contributing_clips(figure, sides)
        shares = shares_of(groups[counts], len(kept))
        each = Jackknife(table[0], (table[1:],), (shares,))
        if sides.probe.pairs == "trials" and is_computed_from_pairs(figure, sides.probe):
            each = _counted_once(each, sides)
        found[figure] = ClusteredEstimate(each, int(counts.sum()))
    return found


def _counted_once(found: Jackknife, sides: PairedEvidence) -> Jackknife:
    """Draw the values of an error rate in percent nearer, as if the chance of a trial of two speakers counted once.

    Such a trial is left out with either speaker, so that the variance of its own, binomial and with half the weight
    where misses equal false alarms, is in the sum twice (Cameron and Miller, Robust Inference for Dyadic Data, 2014).
    At least half is kept.
    """
    (table,), (share,) = found.left_out, found.shares
    groups = np.count_nonzero(share)
    others = np.count_nonzero(~sides.reference.target)
    if groups < 2 or not others:  # noqa: PLR2004 -- one has no interval
        return found
    variance = (((table - found.point) * (1 - share)[:, None]) ** 2).sum(axis=0) * groups / (groups - 1)
    chance = found.point * (100 - found.point) / (4 * others)
    kept = np.sqrt(1 - np.minimum(chance, variance / 2) / np.where(variance > 0, variance, 1.0))
    return Jackknife(found.point, (found.point + (table - found.point) * kept,), found.shares)


def draw_figures(sides: PairedEvidence, dataset: str, seed: int, replicates: int) -> Mapping[ProbeMetric, Floats]:
    """Compute a probe's figures on resampled clusters, shape ``(replicates, 2)``; a block of draws is in memory.

    Codecs with the same clips see the same draws.
    """
    stream = random_stream(seed, dataset, "applications")
    present, clusters = np.unique(sides.clusters, return_inverse=True)
    draws = drawn_counts(len(present), replicates, stream)
    return _weighted(sides, (counts[:, clusters.reshape(-1)] for counts in draws))


def _weighted(sides: PairedEvidence, weights: Iterable[Floats]) -> dict[ProbeMetric, Floats]:
    """Compute each figure on both sides, a row for each row of weights."""
    parts: dict[ProbeMetric, list[Floats]] = {figure: [] for figure in sides.probe.metrics}
    for block in weights:
        for figure, found in parts.items():
            compute = probe_metric_function(figure)
            found.append(np.stack([compute(side, block) for side in (sides.reference, sides.resynthesis)], axis=1))
    return {figure: np.concatenate(found) for figure, found in parts.items()}


def contributing_clips(figure: ProbeMetric, sides: PairedEvidence) -> NDArray[np.bool_]:
    """Tell which of the clips count in the unit of the figure."""
    if not figure.per:
        return np.ones(len(sides.clips), np.bool_)
    # a word error rate counts the clips that have words; those counted in characters have none
    return np.asarray(sides.reference.values[figure.per] > 0)
