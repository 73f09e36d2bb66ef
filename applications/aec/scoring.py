"""Scores sound-event predictions: whether the best class is right, and the rank of each clip within its classes.

The score of a label is the largest among the classes of the model that stand for it. Ties count against the clip on
both figures, so that equal scores of all classes gain nothing by their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.aec.label_map import Counterparts
from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.interface import (
    ClipOutcome,
    Item,
    Prediction,
    ProbeScores,
    ScoredPair,
    ScoringInput,
    Setting,
)
from codec_superb.applications.probe import Probe

Floats = NDArray[np.float64]


def score(probe: Probe, question: ScoringInput) -> ProbeScores:
    """Return, of each clip, the number of its labels and whether the best class is one; and a rank for each label.

    Clips without a label that the model knows are left out, with the reason; ranks are among the clips that take part.
    Raises ApplicationError where predictions do not match ``question.classes``.
    """
    labels = {label for item in question.items for label in item.events}
    known = Counterparts(question.dataset, labels, question.classes)
    outcomes: dict[str, ClipOutcome] = {}
    taking: list[Item] = []
    for item in question.items:
        if not known.of(item.events):
            outcomes[item.clip] = ClipOutcome("left_out", _why_left_out(item, known))
        elif problem := _problem(probe, question, item.clip):
            outcomes[item.clip] = ClipOutcome("failed", problem)
        else:
            taking.append(item)
    owned = [known.of(item.events) for item in taking]
    sides = [_scores(taking, side, known) for side in (question.reference, question.resynthesis)]
    correct = [_correct(scores, owned, list(known.positions)) for scores in sides]
    for position, item in enumerate(taking):
        outcomes[item.clip] = ClipOutcome(
            "ok",
            shared={"labels": float(len(owned[position]))},
            reference={"correct": correct[0][position]},
            resynthesis={"correct": correct[1][position]},
        )
    return ProbeScores(outcomes, rank_pairs(taking, owned, sides, list(known.positions)), _settings(question, known))


def _why_left_out(item: Item, known: Counterparts) -> str:
    return known.why_not(item.events) if item.events else "the clip has no sound-event labels"


def _problem(probe: Probe, question: ScoringInput, clip: str) -> str:
    """Return why a clip has no scores, '' where it has them on both sides."""
    if clip in question.failures:
        return question.failures[clip]
    for side in (question.reference, question.resynthesis):
        prediction = side[clip]
        if isinstance(prediction, str) or prediction.shape != (len(question.classes),):
            got = "a text" if isinstance(prediction, str) else f"shape {prediction.shape}"
            raise ApplicationError(f"{probe.key}: expected {len(question.classes)} class scores of {clip}, got {got}")
        if not np.isfinite(prediction).all():
            return "the model gave a class score that is no finite number"
    return ""


def _scores(items: Sequence[Item], side: Mapping[str, Prediction], known: Counterparts) -> Floats:
    """Return the score of each label of the dataset on each clip, shape ``(clips, labels)``."""
    table = np.zeros((len(items), len(known.positions)))
    for row, item in enumerate(items):
        prediction = np.asarray(side[item.clip])
        table[row] = [prediction[list(positions)].max() for positions in known.positions.values()]
    return table


def _correct(scores: Floats, owned: Sequence[tuple[str, ...]], labels: list[str]) -> list[float]:
    """1 where the best score of a clip's own labels exceeds that of all other labels, else 0."""
    found = []
    for row, own in zip(scores, owned, strict=True):
        mine = np.isin(labels, own)
        found.append(float(mine.all() or row[mine].max() > row[~mine].max()))
    return found


def rank_pairs(
    items: Sequence[Item], owned: Sequence[tuple[str, ...]], sides: Sequence[Floats], labels: list[str]
) -> tuple[ScoredPair, ...]:
    """Return the rank of each clip within each of its labels: how many clips score at least as much.

    ``owned`` are the labels of each clip, ``sides`` the scores of reference and resynthesis, each of shape
    ``(clips, labels)``.
    """
    column = {label: position for position, label in enumerate(labels)}
    ordered = [np.sort(scores, axis=0) for scores in sides]
    pairs = []
    for row, (item, own) in enumerate(zip(items, owned, strict=True)):
        for label in own:
            at = column[label]
            reference, resynthesis = (
                # Clips that score at least as much: ties count against the clip.
                float(len(items) - np.searchsorted(rising[:, at], scores[row, at], side="left"))
                for rising, scores in zip(ordered, sides, strict=True)
            )
            pairs.append(ScoredPair(item.clip, label, True, reference, resynthesis))
    return tuple(pairs)


def _settings(question: ScoringInput, known: Counterparts) -> dict[str, Setting]:
    return {
        "classes": len(known.positions),
        "model_classes": len(question.classes),
        "labels_without_a_class": ", ".join(sorted(known.reasons)),
        "label_score": "largest of the model's classes that stand for the label",
        "ties": "against the clip",
    }
