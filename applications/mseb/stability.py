"""Stability: how far a sequence of units or of vectors drifts from that of the reference, by edits in order.

The reference side is 0 by definition. A rate is the edits of all clips over the units of all references.

Source: Heigold et al., MSEB, NeurIPS 2025; unit edit distance (UED) and continuous edit distance (CED).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.asr.edits import count_edits
from codec_superb.applications.interface import ClipOutcome, Prediction, ProbeScores, ScoringInput
from codec_superb.applications.metric_functions import Evidence
from codec_superb.applications.probe import Probe

Floats = NDArray[np.float64]

GAP_COST = 2.0
"""Cost of an insertion or a deletion: the diameter of the unit sphere, the most that a substitution can cost."""


def score_vectors(probe: Probe, question: ScoringInput) -> ProbeScores:
    """Keep the cost of the edits between the frames of both sides of each clip, and the number of frames."""
    return _score(probe, question, "cost", "frames", continuous_edit_cost)


def score_codes(probe: Probe, question: ScoringInput) -> ProbeScores:
    """Keep the edits between the units of both sides of each clip; a unit is a frame's whole numbers together."""
    return _score(probe, question, "edits", "units", lambda one, two: unit_edits(_units(one), _units(two)))


def _score(
    probe: Probe, question: ScoringInput, field: str, unit: str, compare: Callable[[Floats, Floats], float]
) -> ProbeScores:
    outcomes: dict[str, ClipOutcome] = {}
    for item in question.items:
        reason = question.failures.get(item.clip, "")
        sides = [_frames(of.get(item.clip)) for of in (question.reference, question.resynthesis)]
        reference, resynthesis = sides
        if reason or reference is None or resynthesis is None or reference.shape[1] != resynthesis.shape[1]:
            reason = reason or f"expected frames of {probe.key} of one size on both sides, got others"
            outcomes[item.clip] = ClipOutcome("failed", reason)
            continue
        outcomes[item.clip] = ClipOutcome(
            "ok",
            shared={unit: float(len(reference))},
            reference={field: 0.0},
            resynthesis={field: float(compare(reference, resynthesis))},
        )
    return ProbeScores(outcomes)


def _frames(prediction: Prediction | None) -> Floats | None:
    if prediction is None or isinstance(prediction, str) or prediction.ndim != 2:  # noqa: PLR2004 -- frames, dimensions
        return None
    return prediction.astype(np.float64)


def _units(frames: Floats) -> list[str]:
    return [" ".join(f"{number:.0f}" for number in frame) for frame in frames]


def ued(evidence: Evidence, weights: Floats) -> Floats:
    """Edits over the units of the references."""
    return _rate(weights @ evidence.values["edits"], weights @ evidence.values["units"])


def ced(evidence: Evidence, weights: Floats) -> Floats:
    """Cost of the edits over twice the frames of the references."""
    return _rate(weights @ evidence.values["cost"], GAP_COST * (weights @ evidence.values["frames"]))


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
