"""Exact search by dot product, the rank of what is relevant, and the figures of a rank.

Source: Heigold et al., Massive Sound Embedding Benchmark, NeurIPS 2025 datasets track. Unlike there, a tie counts
against the relevant candidate, so that a model that gives all candidates one score gains nothing by their order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.errors import ApplicationError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Vectors = NDArray[np.float32]

CUT = 10
"""Ranks beyond it count as absent."""
KEPT = 64
"""Candidates that are scored again in float64: float32 may change the order of near ones."""
_QUERIES, _CANDIDATES, _AGAIN = 1024, 16_384, 128
"""Queries and candidates at once, 64 MiB of scores; queries whose best are scored again at once."""


class Nearest(NamedTuple):
    """The best candidates of each query, best first; as many columns as there are candidates where those are few."""

    rows: Integers
    """Positions of the candidates, shape ``(queries, kept)``."""
    scores: Floats
    """Dot products in float64, same shape."""


def nearest(queries: Vectors, candidates: Vectors, kept: int = KEPT) -> Nearest:
    """Return the ``kept`` candidates of the largest dot product for each query, by exact search in blocks.

    ``queries`` has shape ``(q, d)``, ``candidates`` ``(n, d)``, which may be memory-mapped: each block is read once.
    Equal scores are in the order of the candidates. Raises ApplicationError where d differs, or no candidate is there.
    """
    queries = np.asarray(queries, np.float32)
    if queries.ndim != 2 or candidates.ndim != 2 or queries.shape[1] != candidates.shape[1] or not len(candidates):  # noqa: PLR2004
        raise ApplicationError(
            f"search: expected vectors of queries and of at least one candidate with as many numbers, got shapes "
            f"{queries.shape} and {candidates.shape}; embed both with one model"
        )
    rows = np.zeros((len(queries), 0), np.int64)
    scores = np.zeros((len(queries), 0), np.float32)
    for start in range(0, len(candidates), _CANDIDATES):
        block = np.asarray(candidates[start : start + _CANDIDATES], np.float32)
        found = [
            _merged(scores[part], rows[part], queries[part] @ block.T, start, kept)
            for part in (slice(n, n + _QUERIES) for n in range(0, len(queries), _QUERIES))
        ]
        if found:
            scores, rows = (np.concatenate(columns) for columns in zip(*found, strict=True))
    return _scored_again(queries, candidates, rows)


def _merged(scores: Vectors, rows: Integers, block: Vectors, start: int, kept: int) -> tuple[Vectors, Integers]:
    """Merge the best so far with the scores of a block of candidates, each of shape ``(queries, …)``."""
    if rows.shape[1] < kept:
        count = min(kept, block.shape[1])
        best = np.argpartition(block, block.shape[1] - count, axis=1)[:, block.shape[1] - count :]
        scores = np.concatenate([scores, np.take_along_axis(block, best, axis=1)], axis=1)
        rows = np.concatenate([rows, start + best], axis=1)
        chosen = np.lexsort((rows, -scores), axis=1)[:, :kept]
        return np.take_along_axis(scores, chosen, axis=1), np.take_along_axis(rows, chosen, axis=1)
    # after the first blocks few candidates are better than the last of the best
    query, column = np.nonzero(block > scores[:, -1:])
    if not query.size:
        return scores, rows
    queries = np.concatenate([np.repeat(np.arange(len(rows)), kept), query])
    values = np.concatenate([scores.ravel(), block[query, column]])
    places = np.concatenate([rows.ravel(), start + column])
    order = np.lexsort((places, -values, queries))
    first = np.searchsorted(queries[order], np.arange(len(rows)))
    chosen = order[first[:, None] + np.arange(kept)]
    return values[chosen], places[chosen]


def _scored_again(queries: Vectors, candidates: Vectors, rows: Integers) -> Nearest:
    """Score the best again in float64, and sort them by that."""
    scores = np.zeros(rows.shape)
    for start in range(0, len(rows), _AGAIN):
        part = slice(start, start + _AGAIN)
        chosen = np.asarray(candidates[rows[part].ravel()], np.float64).reshape(*rows[part].shape, -1)
        scores[part] = np.einsum("qd,qkd->qk", queries[part].astype(np.float64), chosen)
    order = np.lexsort((rows, -scores), axis=1)
    return Nearest(np.take_along_axis(rows, order, axis=1), np.take_along_axis(scores, order, axis=1))


def ranks_of(found: Nearest, relevant: Sequence[Collection[int]], cut: int = CUT) -> Integers:
    """Return the rank of each query's best relevant candidate, 0 where it is none of the first ``cut``; ``(queries,)``.

    The rank is 1 plus the number of irrelevant candidates that score at least as much.
    """
    ranks = np.zeros(len(relevant), np.int64)
    for query, wanted in enumerate(relevant):
        mine = np.isin(found.rows[query], list(wanted))
        rank = rank_of(found.scores[query], mine)
        ranks[query] = rank if rank <= cut else 0
    return ranks


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
