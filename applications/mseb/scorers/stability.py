"""Stability: the edits between the sequences of both sides of each clip; the reference side is 0 by definition."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.interface import ClipOutcome, Prediction, ProbeScores, ScoringInput
from codec_superb.applications.mseb.stability import continuous_edit_cost, unit_edits
from codec_superb.applications.probe import Probe

Floats = NDArray[np.float64]


def score_vectors(probe: Probe, question: ScoringInput) -> ProbeScores:
    """Keep the cost of the edits between the frames of both sides of each clip, and the number of frames."""
    return _score(probe, question, "cost", "vectors", continuous_edit_cost)


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
