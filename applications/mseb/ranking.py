"""The rank of what is relevant among scored candidates, and the figures of a rank.

Source: Heigold et al., Massive Sound Embedding Benchmark, NeurIPS 2025 datasets track. Unlike there, a tie counts
against the relevant candidate, so that a model that gives all candidates one score gains nothing by their order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CUT = 10
"""Ranks beyond it count as absent."""


def rank_of(scores: Floats, relevant: NDArray[np.bool_]) -> int:
    """Return the rank of the best relevant of some candidates, from 1, ties against it; 0 where none is relevant.

    Both have shape ``(candidates,)``. Worked number: scores 3, 2, 2 with the second relevant have rank 3.
    """
    if not relevant.any():
        return 0
    return 1 + int((scores[~relevant] >= scores[relevant].max()).sum())


def reciprocal_rank(ranks: Floats, cut: int = CUT) -> Floats:
    """Return 1/rank, 0 for a rank of 0 or beyond ``cut``; shape as given, in [0, 1].

    Worked number: ranks 2, 1 and 0 have the mean .5, which is their MRR.
    """
    return np.where(_is_found(ranks, cut), 1.0 / np.maximum(ranks, 1.0), 0.0)


def is_first(ranks: Floats) -> Floats:
    """Return 1 where the rank is 1, else 0: its mean is EM, the exact match."""
    return _is_found(ranks, 1).astype(np.float64)


def is_found(ranks: Floats, cut: int = CUT) -> Floats:
    """Return 1 where the rank is within ``cut``, else 0: its mean is the recall at ``cut`` of one relevant id."""
    return _is_found(ranks, cut).astype(np.float64)


def discounted_gain(ranks: Floats, cut: int = CUT) -> Floats:
    """Return 1/log2(rank + 1), 0 for a rank of 0 or beyond ``cut``: its mean is NDCG with one relevant id.

    Worked number: rank 2 has .63093.
    """
    return np.where(_is_found(ranks, cut), 1.0 / np.log2(np.maximum(ranks, 1.0) + 1.0), 0.0)


def _is_found(ranks: Floats, cut: int) -> NDArray[np.bool_]:
    return np.asarray((ranks >= 1) & (ranks <= cut))


def average_precision(scores: Floats, relevant: NDArray[np.bool_]) -> float:
    """Return the average precision by thresholds, in [0, 1]; 0 where nothing is relevant.

    Both have shape ``(candidates,)``. Sum over the distinct scores of (recall gained) times precision, as
    scikit-learn's ``average_precision_score``: tied scores form one threshold. Worked number: the truth tied with one
    other has .5.
    """
    total = int(relevant.sum())
    if not total:
        return 0.0
    order = np.argsort(-scores, kind="stable")
    falling = scores[order]
    last = np.flatnonzero(np.append(np.diff(falling) != 0, True))
    hits = np.cumsum(relevant[order])[last]
    return float((np.diff(hits, prepend=0) / total * (hits / (last + 1))).sum())


def gain_of_first(scores: Floats, relevant: NDArray[np.bool_], cut: int = 3) -> float:
    """Return NDCG at ``cut`` with gains of 0 and 1, in [0, 1]; 0 where nothing is relevant.

    Both have shape ``(candidates,)``. Candidates with one score share the gain of their places, as in scikit-learn's
    ``ndcg_score`` (McSherry and Najork, Computing Information Retrieval Performance Measures Efficiently in the
    Presence of Tied Scores, ECIR 2008).
    """
    total = int(relevant.sum())
    if not total:
        return 0.0
    discounts = 1.0 / np.log2(np.arange(scores.size) + 2.0)
    discounts[cut:] = 0.0
    _, group, size = np.unique(-scores, return_inverse=True, return_counts=True)
    ends = np.cumsum(size)
    sums = np.append(0.0, np.cumsum(discounts))
    shared = (sums[ends] - sums[ends - size]) / size
    return float(shared[group][relevant].sum() / discounts[:total].sum())
