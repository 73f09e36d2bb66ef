"""Score emotion predictions: whether the best of the model's classes is that of the clip's emotion.

All classes of the model compete, also those that the dataset has not. A tie counts against the clip.
"""

from __future__ import annotations

import numpy as np

from codec_superb.applications.er.emotions import COUNTS_AS, class_of
from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.interface import ClipOutcome, Item, Prediction, ProbeScores, ScoringInput
from codec_superb.applications.probe import Probe


def score(probe: Probe, question: ScoringInput) -> ProbeScores:
    """Return, of each clip, whether each side is right; clips whose emotion is no class of the model are left out.

    Raises ApplicationError where predictions are no scores of ``question.classes``.
    """
    outcomes = {item.clip: _outcome(probe, question, item) for item in question.items}
    merged = ", ".join(f"{name} as {into}" for name, into in COUNTS_AS.items() if name not in question.classes)
    return ProbeScores(
        outcomes, settings={"classes": ", ".join(question.classes), "counted": merged, "ties": "against"}
    )


def _outcome(probe: Probe, question: ScoringInput, item: Item) -> ClipOutcome:
    if not item.emotion:
        return ClipOutcome("left_out", "the clip has no emotion label")
    wanted = class_of(item.emotion, question.classes)
    if wanted is None:
        return ClipOutcome("left_out", f"the model has no class for {item.emotion!r}")
    if item.clip in question.failures:
        return ClipOutcome("failed", question.failures[item.clip])
    right = []
    for side in (question.reference, question.resynthesis):
        scores = _scores(probe, question, item.clip, side[item.clip])
        if not np.isfinite(scores).all():
            return ClipOutcome("failed", "the model gave a class score that is no finite number")
        others = np.delete(scores, question.classes.index(wanted))
        right.append(float(scores[question.classes.index(wanted)] > others.max(initial=-np.inf)))
    return ClipOutcome("ok", reference={"correct": right[0]}, resynthesis={"correct": right[1]})


def _scores(probe: Probe, question: ScoringInput, clip: str, prediction: Prediction) -> np.ndarray:
    if isinstance(prediction, str) or prediction.shape != (len(question.classes),):
        got = "a text" if isinstance(prediction, str) else f"shape {prediction.shape}"
        raise ApplicationError(f"{probe.key}: expected {len(question.classes)} class scores of {clip}, got {got}")
    return prediction
