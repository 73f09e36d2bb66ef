"""Classification: the class of a clip by texts that name the classes, or by a head trained on the references.

Options of the task: ``label``, as probes name labels (``speaker``, ``extra:intent``, ``events``); ``classes``, a
collection whose ids are the classes and whose texts are what is encoded, else the labels themselves; ``only``, labels
that count, separated by commas; ``none``, the label of a clip that has no class, where clips may have several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.aec.scoring import rank_pairs
from codec_superb.applications.interface import ClipOutcome, Item, ProbeScores, ScoringInput, Setting
from codec_superb.applications.mseb.ranking import rank_of
from codec_superb.applications.mseb.scorers.heads import Heads, trained
from codec_superb.applications.mseb.scorers.sides import (
    UNKNOWN,
    Vectors,
    matrix,
    oracle,
    said_nothing,
    taking_part,
)
from codec_superb.applications.probe import SIDES, Probe

Floats = NDArray[np.float64]
SPEAKER = "speaker"


class Classes(NamedTuple):
    """The classes of a task."""

    names: list[str]
    texts: list[str]

    def marks(self, owned: Sequence[str]) -> NDArray[np.bool_]:
        """Return which classes are ``owned``, shape ``(classes,)``."""
        return np.isin(self.names, list(owned))


def score(probe: Probe, question: ScoringInput) -> ProbeScores:
    """Return, of each clip, the number of its class, the predicted one, and the rank of its own among all.

    Numbers count from 1 in the order of the classes. Of classes that share the best score a wrong one is predicted.
    """
    return _score(probe, question, several=False)


def score_several(probe: Probe, question: ScoringInput) -> ProbeScores:
    """Return, of each clip, the ranks of the clip within its classes, and how many decisions are right.

    A class is given where its probability is at least a half; only a trained head gives probabilities.
    """
    return _score(probe, question, several=True)


def _score(probe: Probe, question: ScoringInput, *, several: bool) -> ProbeScores:
    classes = _classes(probe, question)
    known = set(classes.names)

    def why(item: Item) -> str:
        strange = [label for label in _labels(probe, item) if label not in known]
        return f"the label {strange[0]!r} is none of the {len(known)} classes" if strange else ""

    items, outcomes = taking_part(probe, question, why)
    # answers on references whose resynthesis failed train too: a head must not depend on the codec
    learnt = None if question.vectors is not None else _heads(probe, question, classes, why, several=several)
    if learnt is not None:
        for item in [item for item in items if not learnt.knows(item.clip)]:
            items.remove(item)
            outcomes[item.clip] = ClipOutcome("left_out", "without its fold the references have a single class")
    scores = _scorer(question, classes, learnt)
    sides = [
        np.array([scores(item.clip, np.asarray(getattr(question, side)[item.clip])) for item in items])
        for side in SIDES
    ]
    owned = [tuple(_labels(probe, item)) for item in items]
    settings: dict[str, Setting] = {"classes": len(classes.names), "ties": "against the clip"}
    settings |= {"route": "texts of the classes"} if learnt is None else learnt.settings()
    truths = oracle(question, items)
    for place, item in enumerate(items):
        marks = classes.marks(owned[place])
        if several:
            shared = {"labels": float(marks.sum()), "classes": float(len(marks))}
            sided = [_decided(side[place], marks, learnt) for side in sides]
        else:
            truth = truths.get(item.clip)
            best = UNKNOWN if truth is None else float(rank_of(scores(item.clip, truth), marks))
            shared = {"label": float(np.flatnonzero(marks)[0] + 1), "oracle_rank": best}
            sided = [_predicted(side[place], marks) for side in sides]
        for name, kept in zip(SIDES, sided, strict=True):
            kept["no_answer"] = said_nothing(question, name, item)
        outcomes[item.clip] = ClipOutcome("ok", "", shared, *sided)
    return ProbeScores(outcomes, rank_pairs(items, owned, sides, classes.names) if several and items else (), settings)


def _classes(probe: Probe, question: ScoringInput) -> Classes:
    listed = question.collections.get(probe.option("classes"))
    if listed is not None:
        rows = list(listed.rows())
        return Classes([row.id for row in rows], [row.text or row.id for row in rows])
    found = sorted({label for item in question.items for label in _labels(probe, item)})
    only = probe.option("only")
    names = [name for name in found if name.casefold() in only.split(",")] if only else found
    return Classes(names, names)


def _labels(probe: Probe, item: Item) -> list[str]:
    found = item.label(probe.option("label"))
    listed = [found] if isinstance(found, str) else list(found or ())
    if "none" in dict(probe.options):
        listed = [name for label in listed for name in label.split("\n") if name != probe.option("none")]
    return listed


def _heads(
    probe: Probe, question: ScoringInput, classes: Classes, why: Callable[[Item], str], *, several: bool
) -> Heads:
    known = [
        item
        for item in question.items
        if all(map(item.label, probe.labels)) and not why(item) and _is_vector(question, item)
    ]
    wanted = np.array([classes.marks(_labels(probe, item)) for item in known], np.float64)
    speakers = probe.option("label") != SPEAKER
    return trained(known, matrix(question.reference, known), wanted, speakers=speakers, one_each=not several)


def _is_vector(question: ScoringInput, item: Item) -> bool:
    found = question.reference.get(item.clip)
    return found is not None and not isinstance(found, str) and bool(np.isfinite(found).all())


def _scorer(question: ScoringInput, classes: Classes, learnt: Heads | None) -> Callable[[str, Vectors], Floats]:
    """Return what scores all classes for the vector of a clip."""
    if learnt is not None:
        return learnt.scores
    assert question.vectors is not None
    texts = np.asarray(question.vectors.of_texts(classes.texts, "sentence"), np.float64)
    return lambda _, vector: np.asarray(texts @ vector.astype(np.float64))


def _predicted(scores: Floats, marks: NDArray[np.bool_]) -> dict[str, float]:
    first = scores == scores.max()
    wrong = first & ~marks
    return {
        "predicted": float(np.flatnonzero(wrong if wrong.any() else first)[0] + 1),
        "rank": float(rank_of(scores, marks)),
    }


def _decided(scores: Floats, marks: NDArray[np.bool_], learnt: Heads | None) -> dict[str, float]:
    if learnt is None:
        return {"given": UNKNOWN, "hits": UNKNOWN}
    given = scores >= 0.0  # where the logistic function is a half
    return {"given": float(given.sum()), "hits": float((given & marks).sum())}
