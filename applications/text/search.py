"""Search by dot product over memory-mapped vectors: ranks among all candidates, and the best ten.

:func:`search` is exact; :func:`among` takes what an index has found.

The candidates are read once, in blocks. Products are float32; wherever their rounding could decide, they are computed
again in float64. That is known without doubt: a float32 product of ``d`` numbers, added in any order, is off by at most
``d u / (1 - d u)`` times the lengths of both vectors, ``u`` being 2**-24 (Higham, Accuracy and Stability of Numerical
Algorithms, 2nd edition, 3.1).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.errors import ApplicationError

Vectors = NDArray[np.float32] | NDArray[np.float16]
Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

EXACT = "exact"
"""Name of the search that looks at all candidates."""
KEPT = 10
"""Candidates that are returned for each query."""
_POOL = 64
"""Candidates by float32 that the best are chosen from in float64."""
_QUERIES, _CANDIDATES = 512, 8192
"""Queries and candidates at once: 16 MiB of products."""
_AGAIN = 1 << 14
"""Products that are computed again at once: 50 MiB with 384 numbers a vector."""


class Found(NamedTuple):
    """What a search gives for each query."""

    ranks: Integers
    """1 + the number of irrelevant candidates that score at least as much as the best relevant one; 0 where no
    candidate is relevant; shape ``(queries,)``."""
    rows: Integers
    """Positions of the best candidates, best first, equal ones in their order unless more than 64 tie; shape
    ``(queries, kept)``."""
    scores: Doubles
    """Their dot products; same shape."""


def search(queries: Vectors, candidates: Vectors, relevant: Sequence[Collection[int]], kept: int = KEPT) -> Found:
    """Search all ``candidates`` ``(n, d)`` for each of ``queries`` ``(q, d)``; both float32 or float16.

    ``relevant`` names the positions of each query's relevant candidates. Fewer than ``kept`` candidates are all
    returned. Raises ApplicationError for shapes that do not fit together and for numbers that are not finite.
    """
    asked = np.asarray(queries, np.float32)
    _check(asked, candidates, relevant)
    search = _Search(asked, candidates, relevant, min(kept, len(candidates)))
    for start in range(0, len(candidates), _CANDIDATES):
        search.take(start, np.asarray(candidates[start : start + _CANDIDATES], np.float32))
    return search.found()


def among(
    queries: Vectors, candidates: Vectors, relevant: Sequence[Collection[int]], rows: Integers, kept: int = KEPT
) -> Found:
    """Search only the candidates ``rows`` ``(q, hits)`` that an index has found for each query, -1 for none.

    Products are float64. A query whose relevant candidates are not among its rows has the rank ``hits + 1``; what the
    index has not found beats nothing. Other arguments, result and errors as :func:`search`; fewer than ``kept`` rows
    are filled up with -1, whose score is minus infinity.
    """
    asked = np.asarray(queries, np.float32)
    _check(asked, candidates, relevant)
    seen = rows >= 0
    scores = np.full(rows.shape, -np.inf)
    scores[seen] = _products(asked, np.nonzero(seen)[0], candidates, rows[seen])
    wanted = np.zeros(rows.shape, np.bool_)
    for query, own in enumerate(relevant):
        wanted[query] = np.isin(rows[query], list(own))
    best = np.where(wanted, scores, -np.inf).max(axis=1, initial=-np.inf)
    above = np.count_nonzero(seen & ~wanted & (scores >= best[:, None]), axis=1)
    ranks = np.where(wanted.any(axis=1), 1 + above, rows.shape[1] + 1)
    order = np.lexsort((rows, -scores), axis=1)[:, :kept]
    return Found(
        np.where([bool(own) for own in relevant], ranks, 0) if len(relevant) else ranks,
        np.take_along_axis(rows, order, axis=1),
        np.take_along_axis(scores, order, axis=1),
    )


def recall(found: Found, exact: Found) -> float:
    """Return the share of the best candidates that was found, over all queries; what ties with the last one counts."""
    kept = min(found.scores.shape[1], exact.scores.shape[1])
    last = exact.scores[:, kept - 1 : kept]
    return float(np.count_nonzero(found.scores[:, :kept] >= last) / last.size / kept)


class _Search:
    """Counts and best candidates so far."""

    def __init__(self, queries: Singles, candidates: Vectors, relevant: Sequence[Collection[int]], kept: int) -> None:
        self._queries = queries
        self._lengths = np.linalg.norm(queries.astype(np.float64), axis=1)
        self._kept = kept
        pool = min(max(_POOL, kept), len(candidates))
        self._rows: Integers = np.full((len(queries), pool), -1, np.int64)
        self._best: Singles = np.full((len(queries), pool), -np.inf, np.float32)
        self._exact = np.zeros((len(queries), pool))
        owners = np.repeat(np.arange(len(relevant)), [len(rows) for rows in relevant])
        places = np.fromiter((row for rows in relevant for row in rows), np.int64, owners.size)
        self._targets = _best_of(owners, self._again(owners, candidates, places), len(relevant))
        self._above = np.zeros(len(relevant), np.int64)
        # one number a pair, to look pairs up in
        self._pairs = np.sort(owners * len(candidates) + places)
        self._count = len(candidates)

    def take(self, start: int, block: Singles) -> None:
        """Take in a block of candidates, the first of which is at ``start``. Raises ApplicationError."""
        longest = float(np.sqrt(np.einsum("nd,nd->n", block, block, dtype=np.float64).max()))
        if not np.isfinite(longest):
            raise ApplicationError(
                f"search: expected finite numbers, got others in candidates {start} to {start + len(block) - 1}; "
                "embed them again"
            )
        doubt = _doubt(block.shape[1]) * self._lengths * longest
        for first in range(0, len(self._queries), _QUERIES):
            part = slice(first, first + _QUERIES)
            products = self._queries[part] @ block.T
            self._count_above(part, products, doubt[part], start, block)
            self._keep_best(part, products, start, block)

    def found(self) -> Found:
        """Return ranks and best candidates."""
        order = np.lexsort((self._rows, -self._exact), axis=1)[:, : self._kept]
        ranks = np.where(np.isneginf(self._targets), 0, 1 + self._above)
        return Found(
            ranks, np.take_along_axis(self._rows, order, axis=1), np.take_along_axis(self._exact, order, axis=1)
        )

    def _count_above(self, part: slice, products: Singles, doubt: Doubles, start: int, block: Singles) -> None:
        """Count the irrelevant candidates of a block that score at least as much as the best relevant one."""
        targets = np.where(np.isneginf(self._targets[part]), np.inf, self._targets[part])
        # Rounded outwards: what lies beyond is above the target whatever float32 did to it.
        sure = np.nextafter((targets + doubt).astype(np.float32), np.float32(np.inf))[:, None]
        perhaps = np.nextafter((targets - doubt).astype(np.float32), np.float32(-np.inf))[:, None]
        possible = products >= perhaps
        if not possible.any():
            return
        above = products > sure
        self._above[part] += np.count_nonzero(above, axis=1)
        query, column = np.nonzero(possible ^ above)
        query += part.start
        irrelevant = ~self._is_relevant(query, start + column)
        query, column = query[irrelevant], column[irrelevant]
        beaten = self._again(query, block, column) >= self._targets[query]
        self._above += np.bincount(query[beaten], minlength=self._above.size)

    def _is_relevant(self, query: Integers, rows: Integers) -> NDArray[np.bool_]:
        wanted = query * self._count + rows
        places = np.searchsorted(self._pairs, wanted)
        places[places == self._pairs.size] = 0
        return self._pairs[places] == wanted if self._pairs.size else np.zeros(query.size, np.bool_)

    def _keep_best(self, part: slice, products: Singles, start: int, block: Singles) -> None:
        """Put what is better than the last of the best so far in its place."""
        best, rows, exact = self._best[part], self._rows[part], self._exact[part]
        pool = best.shape[1]
        if products.shape[1] > pool and not rows[:, -1].min() >= 0:
            # Of the first blocks nearly everything is better: the best of each alone.
            column = np.argpartition(products, products.shape[1] - pool, axis=1)[:, -pool:].ravel()
            query = np.repeat(np.arange(len(best)), pool)
        else:
            query, column = np.nonzero(products > best[:, -1:])
        if not query.size:
            return
        queries = np.concatenate([np.repeat(np.arange(len(best)), pool), query])
        values = np.concatenate([best.ravel(), products[query, column]])
        places = np.concatenate([rows.ravel(), start + column])
        again = np.concatenate([exact.ravel(), self._again(part.start + query, block, column)])
        order = np.lexsort((places, -values, queries))
        chosen = order[np.searchsorted(queries[order], np.arange(len(best)))[:, None] + np.arange(pool)]
        best[:], rows[:], exact[:] = values[chosen], places[chosen], again[chosen]

    def _again(self, query: Integers, vectors: Vectors, rows: Integers) -> Doubles:
        return _products(self._queries, query, vectors, rows)


def _products(queries: Singles, query: Integers, vectors: Vectors, rows: Integers) -> Doubles:
    """Return the products of pairs of a query and a row in float64, each the same whatever stands beside it."""
    products = np.empty(query.size)
    for first in range(0, query.size, _AGAIN):
        part = slice(first, first + _AGAIN)
        left, right = queries[query[part]].astype(np.float64), vectors[rows[part]].astype(np.float64)
        products[part] = np.einsum("nd,nd->n", left, right)
    return products


def _doubt(dimensions: int) -> float:
    """Return how far a float32 product may be off, as a share of the product of the lengths."""
    share = dimensions * 2.0**-24
    return share / (1 - share)


def _best_of(owners: Integers, scores: Doubles, count: int) -> Doubles:
    """Return the largest score of each owner, minus infinity for one without."""
    best = np.full(count, -np.inf)
    np.maximum.at(best, owners, scores)
    return best


def _check(queries: Singles, candidates: Vectors, relevant: Sequence[Collection[int]]) -> None:
    if queries.ndim != 2 or candidates.ndim != 2 or queries.shape[1] != candidates.shape[1] or not len(candidates):  # noqa: PLR2004 -- rows of numbers
        raise ApplicationError(
            "search: expected vectors of queries and of at least one candidate with as many numbers, got shapes "
            f"{queries.shape} and {candidates.shape}; embed both with one model"
        )
    if not np.isfinite(queries).all():
        raise ApplicationError("search: expected queries of finite numbers, got others; embed them again")
    if len(relevant) != len(queries):
        raise ApplicationError(
            f"search: expected the relevant candidates of {len(queries)} queries, got {len(relevant)}"
        )
    odd = [row for rows in relevant for row in rows if not 0 <= row < len(candidates)]
    if odd:
        raise ApplicationError(f"search: expected positions below {len(candidates)}, got {odd[0]}")
