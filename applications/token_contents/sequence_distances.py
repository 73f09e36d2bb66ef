"""Distances between token sequences of different lengths: edits, and dynamic time warping; compiled, and pure.

``edit`` is Levenshtein's distance of frames (a frame differs where any codebook does) over the longer length. ``dtw``
is the cheapest alignment, a pair of frames costing the share of codebooks that differ, over the length of its path, the
shortest of the cheapest. Both are in [0, 1], 0 for equal sequences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled

Distance = Literal["dtw", "edit"]
Tokens = NDArray[np.int64]


def distance(one: Tokens, two: Tokens, kind: Distance = "edit") -> float:
    """Return the distance of two sequences ``(codebooks, frames)``; 1 where one of them alone has no frame."""
    if not one.shape[1] or not two.shape[1]:
        return float(one.shape[1] != two.shape[1])
    first, second = (np.ascontiguousarray(of.T) for of in (one, two))
    return float(_edit(first, second) if kind == "edit" else _warped(first, second))


def pairwise(sequences: Sequence[Tokens], kind: Distance = "dtw") -> NDArray[np.float64]:
    """Return the distances of all sequences to each other, ``(sequences, sequences)``; each has a frame at least."""
    if not sequences:
        return np.zeros((0, 0))
    ends = np.cumsum([0, *(of.shape[1] for of in sequences)])
    frames = np.ascontiguousarray(np.concatenate([of.T for of in sequences]), dtype=np.int64)
    return _all_pairs(frames, ends.astype(np.int64), kind == "edit")


@compiled()
def _all_pairs(frames: Tokens, ends: Tokens, edits: bool) -> NDArray[np.float64]:
    count = ends.size - 1
    found = np.zeros((count, count))
    for i in range(count):
        for j in range(i):
            one, two = frames[ends[i] : ends[i + 1]], frames[ends[j] : ends[j + 1]]
            found[i, j] = found[j, i] = _edit(one, two) if edits else _warped(one, two)
    return found


@compiled()
def _edit(one: Tokens, two: Tokens) -> float:
    rows, columns = len(one), len(two)
    before = np.arange(columns + 1).astype(np.float64)
    for i in range(rows):
        row = np.empty(columns + 1)
        row[0] = i + 1
        for j in range(columns):
            differs = 1.0 if (one[i] != two[j]).any() else 0.0
            row[j + 1] = min(before[j] + differs, before[j + 1] + 1.0, row[j] + 1.0)
        before = row
    return float(before[columns] / max(rows, columns))


@compiled()
def _warped(one: Tokens, two: Tokens) -> float:
    rows, columns = len(one), len(two)
    cost = np.empty((rows, columns))
    steps = np.empty((rows, columns))
    for i in range(rows):
        for j in range(columns):
            own = (one[i] != two[j]).mean()
            best, length = 0.0, 0.0
            if i > 0 or j > 0:
                best = np.inf
                if i > 0 and j > 0:
                    best, length = cost[i - 1, j - 1], steps[i - 1, j - 1]
                if i > 0 and (cost[i - 1, j] < best or (cost[i - 1, j] == best and steps[i - 1, j] < length)):
                    best, length = cost[i - 1, j], steps[i - 1, j]
                if j > 0 and (cost[i, j - 1] < best or (cost[i, j - 1] == best and steps[i, j - 1] < length)):
                    best, length = cost[i, j - 1], steps[i, j - 1]
            cost[i, j], steps[i, j] = best + own, length + 1.0
    return float(cost[rows - 1, columns - 1] / steps[rows - 1, columns - 1])
