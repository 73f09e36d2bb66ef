"""Mean average precision from the ranks of clips within their classes, weighted so that a bootstrap is one call."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.metric_functions import Evidence, Floats

_CHUNK = 2**21
"""Draws times pairs at once: 16 MiB an array."""


def mean_average_precision(evidence: Evidence, weights: Floats) -> Floats:
    """Return the macro mean average precision in percent, shape ``(draws,)``.

    Each pair is a clip that has a class, with its rank r among all clips by the score of that class (as many clips
    score at least as much). Its precision is the number of clips of the class with a rank of at most r, over r; the
    average precision of the class is the mean over its clips, as scikit-learn's ``average_precision_score``; the figure
    is the mean over the classes.

    In a draw of the bootstrap the precision at each clip stays as it was over all clips, and is weighted by how often
    the draw holds the clip: ranks within a draw would need the scores of all clips for all classes, which no submission
    carries. A class of which the draw holds no clip is left out; NaN where the draw holds none of any class.
    """
    # reduceat sums runs: the pairs of a class stand side by side.
    order = np.argsort(evidence.right, kind="stable")
    left, classes = evidence.left[order], evidence.right[order]
    precision = precisions(classes, evidence.scores[order])
    starts = np.flatnonzero(np.diff(classes, prepend=-1))
    step = max(1, _CHUNK // max(1, left.size))
    parts = [_means(weights[n : n + step, left], precision, starts) for n in range(0, len(weights), step)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _means(held_by_pair: Floats, precision: Floats, starts: NDArray[np.int64]) -> Floats:
    """Macro means of a few draws: how often each holds the clip of a pair, shape ``(draws, pairs)``, by class."""
    mean: Floats = np.full(len(held_by_pair), np.nan)
    if not starts.size:
        return mean
    held = np.add.reduceat(held_by_pair, starts, axis=1)
    above = np.add.reduceat(held_by_pair * precision, starts, axis=1)
    average = np.divide(above, held, out=np.zeros_like(held), where=held > 0)
    present = (held > 0).sum(axis=1)
    np.divide(100.0 * average.sum(axis=1), present, out=mean, where=present > 0)
    return mean


def precisions(classes: NDArray[np.int64], ranks: Floats) -> Floats:
    """Return the precision at each pair, in (0, 1]: clips of its class with a rank as good, over its rank."""
    order = np.lexsort((ranks, classes))
    of_class, of_rank = np.diff(classes[order], prepend=-1) != 0, np.diff(ranks[order], prepend=-1) != 0
    positions = np.arange(ranks.size)
    first = np.maximum.accumulate(np.where(of_class, positions, 0))  # of the class
    tied = np.cumsum(of_class | of_rank) - 1  # pairs of one class and rank
    last = np.flatnonzero(np.append(np.diff(tied) != 0, True)[: ranks.size])[tied]
    found = np.zeros(ranks.shape)
    found[order] = (last - first + 1) / ranks[order]
    return found
