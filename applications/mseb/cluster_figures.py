"""Figures of clusters: how well those of each seed agree with the labels, with weights for the intervals.

Each takes :class:`Evidence` of one side, whose fields are ``label`` and ``cluster_N`` and ``nearest_N`` of each seed,
and weights of shape ``(draws, clips)``, and returns ``(draws,)``: the mean over the seeds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.metric_functions import Evidence, Floats
from codec_superb.applications.mseb.clustering import SEEDS, adjusted, chance, v_measure

Numbers = NDArray[np.int64]


def v(evidence: Evidence, weights: Floats) -> Floats:
    """V-measure, mean over the seeds."""
    return _over_seeds(evidence, weights, "cluster")


def v_reference(evidence: Evidence, weights: Floats) -> Floats:
    """V-measure of the clusters by the centroids of the originals, mean over the seeds."""
    return _over_seeds(evidence, weights, "nearest")


def ami(evidence: Evidence, weights: Floats) -> Floats:
    """Mutual information above chance, mean over the seeds; what chance gives is that of all clips in every draw."""
    labels, clusters = _columns(evidence, "cluster")
    return _mean([adjusted(v_measure(labels, of, weights), chance(labels, of)) for of in clusters], weights)


def v_chance(evidence: Evidence, weights: Floats) -> Floats:
    """V-measure of random clusters of the same sizes, over all clips, mean over the seeds."""
    labels, clusters = _columns(evidence, "cluster")
    return _mean([np.full(len(weights), chance(labels, of)) for of in clusters], weights)


def _over_seeds(evidence: Evidence, weights: Floats, field: str) -> Floats:
    labels, clusters = _columns(evidence, field)
    return _mean([v_measure(labels, of, weights) for of in clusters], weights)


def _columns(evidence: Evidence, field: str) -> tuple[Numbers, list[Numbers]]:
    numbers = [evidence.values[f"{field}_{seed}"] for seed in SEEDS]
    return evidence.values["label"].astype(np.int64), [of.astype(np.int64) for of in numbers]


def _mean(found: list[Floats], weights: Floats) -> Floats:
    held = weights.sum(axis=1) > 0
    return np.where(held, np.mean(found, axis=0), np.nan)
