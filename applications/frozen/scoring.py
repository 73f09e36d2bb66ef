"""``xares.linear`` and ``xares.knn``: what a linear head, or the nearest neighbours, read out of a frozen encoder.

After X-ARES (arXiv:2505.16369): frames are averaged over the clip, and a classifier is trained on them. Here it is
trained on the references of the other folds, and asked about both sides of each clip: what is lost between them the
codec took. The neighbours are ten by cosine, whose votes weigh softmax(cosine / 0.07), as there; the linear head is
that of emotion recognition, in place of the published network of several layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.er.folds import BY_GROUP, make_folds
from codec_superb.applications.interface import ClipOutcome, Item, Prediction, ProbeScores, ScoringInput
from codec_superb.applications.probe import SIDES, Probe, Side

Vectors = NDArray[np.float32]
Ask = Callable[[Vectors], NDArray[np.int64]]
"""Returns the class of each row."""
NEIGHBOURS, TEMPERATURE = 10, 0.07
_LEAST_LENGTH = 1e-12


def score(probe: Probe, question: ScoringInput) -> ProbeScores:
    """Classify both sides of each clip by what the references of other folds teach.

    Whole sessions or speakers are held out where clips have them and the label is another. A clip of whose classes no
    other fold has one is left out, as there is nothing to learn it from.
    """
    label, method = probe.option("label"), probe.option("method")
    outcomes = {item.clip: _unusable(question, item, label) for item in question.items}
    items = [item for item in question.items if outcomes[item.clip].status == "ok"]
    settings: dict[str, str | int | float | bool] = {"method": method, "label": label, "frames": "mean"}
    if len(items) > 1:
        folds = make_folds(items, by=() if label == "speaker" else BY_GROUP)
        settings |= {"folds": folds.count, "held_out": folds.by}
        number = np.array([folds.of[item.clip] for item in items])
        sides = {side: np.stack([_pooled(getattr(question, side)[of.clip]) for of in items]) for side in SIDES}
        for fold in range(folds.count):
            outcomes |= dict(_fold(items, sides, number == fold, label, method))
    else:
        outcomes |= {item.clip: ClipOutcome("left_out", "no other clip to learn from") for item in items}
    return ProbeScores(outcomes, settings=settings)


def _fold(
    items: Sequence[Item], sides: dict[Side, Vectors], mine: NDArray[np.bool_], label: str, method: str
) -> Iterator[tuple[str, ClipOutcome]]:
    others = [_classes(item, label) for item, own in zip(items, mine, strict=True) if not own]
    names = sorted({name for of in others for name in of})
    wanted = np.array([[name in of for name in names] for of in others], np.float64)
    ask = _linear if method == "linear" else _neighbours
    classify = ask(sides["reference"][~mine], wanted) if others else None
    answers = {side: classify(found[mine]) for side, found in sides.items()} if classify else {}
    asked = [item for item, own in zip(items, mine, strict=True) if own]
    for at, item in enumerate(asked):
        right = _classes(item, label)
        if not set(right) & set(names):
            yield item.clip, ClipOutcome("left_out", f"no other fold has a clip of {' or '.join(right)}")
            continue
        read = {side: names[found[at]] for side, found in answers.items()}
        same = float(read["reference"] == read["resynthesis"])
        values = {side: {"correct": float(name in right), "parsed": 1.0} for side, name in read.items()}
        yield item.clip, ClipOutcome(
            "ok", "", {"options": float(len(names))}, {**values["reference"], "same": 1.0},
            {**values["resynthesis"], "same": same},
        )  # fmt: skip


def _linear(vectors: Vectors, wanted: NDArray[np.float64]) -> Ask:
    from codec_superb.applications.er.head import train_classes

    one_each = bool((wanted.sum(axis=1) == 1).all())
    head = train_classes(vectors[:, None], wanted, one_each=one_each)
    return lambda asked: np.array([int(head.logits(each[None]).argmax()) for each in asked], np.int64)


def _neighbours(vectors: Vectors, wanted: NDArray[np.float64]) -> Ask:
    known = _units(vectors)

    def ask(asked: Vectors) -> NDArray[np.int64]:
        near = _units(asked) @ known.T
        # stable: of equal cosines the first clip, whatever the machine's sort
        places = np.argsort(-near, axis=1, kind="stable")[:, :NEIGHBOURS]
        close = np.take_along_axis(near, places, axis=1)
        votes = np.exp((close - close.max(axis=1, keepdims=True)) / TEMPERATURE)
        best: NDArray[np.int64] = np.einsum("cn,cnk->ck", votes, wanted[places]).argmax(axis=1)
        return best

    return ask


def _units(vectors: Vectors) -> NDArray[np.float64]:
    found = vectors.astype(np.float64)
    unit: NDArray[np.float64] = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), _LEAST_LENGTH)
    return unit


def _classes(item: Item, label: str) -> tuple[str, ...]:
    found = item.label(label)
    return (found,) if isinstance(found, str) else tuple(found or ())


def _unusable(question: ScoringInput, item: Item, label: str) -> ClipOutcome:
    if not _classes(item, label):
        return ClipOutcome("left_out", f"no label {label}")
    if item.clip in question.failures:
        return ClipOutcome("failed", question.failures[item.clip])
    for side in SIDES:
        vector = getattr(question, side).get(item.clip)
        if not isinstance(vector, np.ndarray) or not np.isfinite(vector).all():
            return ClipOutcome("failed", f"{side}: expected a vector of finite numbers")
    return ClipOutcome("ok")


def _pooled(prediction: Prediction) -> Vectors:
    assert not isinstance(prediction, str)  # such clips have failed
    found: Vectors = prediction if prediction.ndim == 1 else prediction.mean(axis=0, dtype=np.float64)
    return found.astype(np.float32)
