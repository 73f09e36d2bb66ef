"""Clusters of vectors, and how well they agree with labels: k-means, V-measure and mutual information.

A figure of agreement takes weights of shape ``(draws, clips)`` and returns ``(draws,)``, so that a bootstrap is one
call.

Sources: Rosenberg and Hirschberg, V-Measure, EMNLP 2007; Vinh, Epps and Bailey, Information Theoretic Measures for
Clusterings Comparison, JMLR 2010 (what chance gives).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.packages import require_packages

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

SEEDS = tuple(range(10))
"""One seed moves the V-measure by ±0.05 on 270 clips."""
BATCH = 32
"""Vectors of a mini-batch, as MSEB has it."""
_ROUNDING = 1e-12


def cluster(vectors: Floats, count: int, seed: int) -> tuple[Numbers, Floats]:
    """Return the cluster of each vector, from 0, and the centroids, by mini-batch k-means.

    ``vectors`` has the shape ``(clips, dimensions)``; the same seed gives the same clusters, whatever the number of
    threads. Raises MissingPackage without scikit-learn.
    """
    require_packages("clustering", "mseb", "sklearn")
    from sklearn.cluster import MiniBatchKMeans
    from threadpoolctl import threadpool_limits

    # sums of several threads are rounded in another order, and decide when to stop
    with threadpool_limits(limits=1):
        # n_init="auto" is one start by k-means++ (scikit-learn 1.2 on)
        model = MiniBatchKMeans(n_clusters=count, batch_size=BATCH, n_init="auto", random_state=seed).fit(vectors)
    return np.asarray(model.labels_, np.int64), np.asarray(model.cluster_centers_, np.float64)


def nearest(vectors: Floats, centroids: Floats) -> Numbers:
    """Return the number of the nearest centroid to each vector, the first of equally near ones."""
    return np.array([((centroids - vector) ** 2).sum(axis=1).argmin() for vector in vectors], np.int64)


def v_measure(labels: Numbers, clusters: Numbers, weights: Floats | None = None) -> Floats:
    """Return the V-measure, from 0 to 1: mutual information over the mean of both entropies.

    1 where neither tells clips apart; NaN in a draw without clips.
    """
    drawn = np.ones((1, len(labels))) if weights is None else weights
    single = [_entropies(numbers, drawn) for numbers in (labels, clusters)]
    # numbers of the cells of the table of labels and clusters
    _, cells = np.unique(np.stack([labels, clusters]), axis=1, return_inverse=True)
    # numpy 2.0 gives the inverse of axis=1 two axes, other releases one
    together = _entropies(cells.reshape(-1), drawn)
    both = single[0] + single[1]
    # I(U; V) = H(U) + H(V) - H(U, V); the V-measure with beta 1 is 2 I / (H(U) + H(V))
    agreed = np.divide(both - together, both, out=np.full(both.shape, 0.5), where=both > _ROUNDING)
    found: Floats = np.where(drawn.sum(axis=1) > 0, np.clip(2.0 * agreed, 0.0, 1.0), np.nan)
    return found


def chance(labels: Numbers, clusters: Numbers) -> float:
    """Return the V-measure that random clusters of these sizes have: expected mutual information over mean entropy."""
    ones = np.ones((1, len(labels)))
    mean_entropy = float(sum(_entropies(numbers, ones)[0] for numbers in (labels, clusters))) / 2.0
    if mean_entropy <= _ROUNDING:
        return 1.0
    rows, columns = (np.unique(numbers, return_counts=True)[1] for numbers in (labels, clusters))
    return _expected_information(rows, columns, len(labels)) / mean_entropy


def adjusted(measure: Floats, by_chance: float) -> Floats:
    """Return adjusted mutual information from the V-measure and its value by chance: 0 by chance, 1 at best."""
    if 1.0 - by_chance <= _ROUNDING:
        return np.where(measure >= 1.0 - _ROUNDING, 1.0, 0.0)
    return np.asarray((measure - by_chance) / (1.0 - by_chance))


def _entropies(numbers: Numbers, weights: Floats) -> Floats:
    """Entropy of a division of the clips in nats, for each draw."""
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    if not starts.size:
        return np.zeros(len(weights))
    sums = np.add.reduceat(weights[:, order], starts, axis=1)
    total = sums.sum(axis=1, keepdims=True)
    share = np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)
    logs = np.log(share, out=np.zeros_like(share), where=share > 0)
    return np.asarray(-(share * logs).sum(axis=1))


def _expected_information(rows: Numbers, columns: Numbers, total: int) -> float:
    """Return what two random divisions of these sizes share in the mean, in nats (Vinh et al., section 3.1)."""
    from scipy.special import gammaln

    factorials = gammaln(np.arange(total + 1) + 1.0)
    expected = 0.0
    # equal sizes give equal terms
    for row, rows_alike in zip(*np.unique(rows, return_counts=True), strict=True):
        for column, columns_alike in zip(*np.unique(columns, return_counts=True), strict=True):
            shared = np.arange(max(1, row + column - total), min(row, column) + 1)
            information = shared / total * np.log(total * shared / (row * column))
            logs = (
                factorials[row] + factorials[column] + factorials[total - row] + factorials[total - column]
                - factorials[total] - factorials[shared] - factorials[row - shared] - factorials[column - shared]
                - factorials[total - row - column + shared]
            )  # fmt: skip
            expected += rows_alike * columns_alike * float((information * np.exp(logs)).sum())
    return expected
