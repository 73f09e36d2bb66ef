"""Stability: how far a sequence of units or of vectors drifts from that of the reference, by edits in order.

The reference side is 0 by definition. A rate is the edits of all clips over the units of all references.

Source: Heigold et al., MSEB, NeurIPS 2025; unit edit distance (UED) and continuous edit distance (CED).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.asr.edits import count_edits
from codec_superb.applications.metric_functions import Evidence

Floats = NDArray[np.float64]

GAP_COST = 2.0
"""Cost of an insertion or a deletion: the diameter of the unit sphere, the most that a substitution can cost."""


def ued(evidence: Evidence, weights: Floats) -> Floats:
    """Edits over the units of the references."""
    return _rate(weights @ evidence.values["edits"], weights @ evidence.values["units"])


def ced(evidence: Evidence, weights: Floats) -> Floats:
    """Cost of the edits over twice the vectors of the references."""
    return _rate(weights @ evidence.values["cost"], GAP_COST * (weights @ evidence.values["vectors"]))


def _rate(above: Floats, below: Floats) -> Floats:
    rate: Floats = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
    return rate


def unit_edits(reference: Sequence[str], other: Sequence[str]) -> int:
    """Return the fewest substitutions, deletions and insertions between two sequences of units.

    UED is their number over that of the units of the reference.
    """
    return count_edits(reference, other).errors


def continuous_edit_cost(reference: Floats, other: Floats) -> float:
    """Return the cost of the cheapest edit of one sequence of vectors into another, shapes ``(frames, dimensions)``.

    Each sequence is divided by its own longest vector; a substitution costs the distance between the two vectors, an
    insertion or a deletion 2. CED is the cost over twice the frames of the reference.
    """
    one, two = _scaled(reference), _scaled(other)
    inserted = GAP_COST * np.arange(len(two) + 1)
    row = inserted
    for vector in one:
        following = row + GAP_COST
        # a difference at a time: equal vectors have a distance of 0, which the expanded square misses by 1e-8
        np.minimum(following[1:], row[:-1] + np.linalg.norm(two - vector, axis=1), out=following[1:])
        # an insertion comes from the left in the same row: a running minimum once its own cost is taken off
        row = np.minimum.accumulate(following - inserted) + inserted
    return float(row[-1])


def _scaled(frames: Floats) -> Floats:
    longest = float(np.linalg.norm(frames, axis=1).max(initial=0.0))
    return frames / longest if longest > 0 else frames
