"""Classifiers on the vectors of references, by folds: who is asked about a clip has not heard it, nor its speaker.

One linear layer on standardised numbers, trained on full batches from zeros by
:mod:`codec_superb.applications.er.head`: multinomial where a clip has one class, else one decision a class. Nothing is
drawn at random, so that the same references give the same head for every codec.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.er.folds import BY_GROUP, SEED, Folds, make_folds
from codec_superb.applications.er.head import EPOCHS, LEARNING_RATE, WEIGHT_DECAY, Head, train_classes
from codec_superb.applications.interface import Item, Setting

Vectors = NDArray[np.float32]
Floats = NDArray[np.float64]
_TWO: Final = 2
_KEPT: dict[str, Heads] = {}
_MOST_KEPT = 4
"""Sets of heads that a process keeps: the next codec of a dataset needs the same."""


class Heads:
    """The heads of all folds."""

    def __init__(self, folds: Folds, heads: Mapping[int, Head]) -> None:
        self._folds = folds
        self._heads = heads

    def knows(self, clip: str) -> bool:
        """Whether a head was trained without the clip; not where that would have left a single class."""
        return self._folds.of.get(clip, -1) in self._heads

    def scores(self, clip: str, vector: Vectors) -> Floats:
        """Return the score of each class before softmax or logistic function, shape ``(classes,)``."""
        return self._heads[self._folds.of[clip]].logits(vector[None])

    def settings(self) -> dict[str, Setting]:
        """Return how they were trained."""
        return {
            "head": f"linear, AdamW, {EPOCHS} epochs of all clips, rate {LEARNING_RATE}, decay {WEIGHT_DECAY}",
            "folds": f"{self._folds.count} by {self._folds.by}",
            "folds_seed": SEED,
            "trained_on": "references of the other folds",
        }


def trained(items: Sequence[Item], vectors: Vectors, wanted: Floats, *, speakers: bool, one_each: bool) -> Heads:
    """Train a head for each fold of ``items``, with ``vectors`` ``(clips, dimensions)`` and ``wanted`` classes.

    ``wanted`` has shape ``(clips, classes)`` with 1 for a clip's. ``speakers`` holds out whole sessions or speakers
    where they are known (not where the speaker is the class). Fewer than two clips train no head.
    """
    if len(items) < _TWO:
        return Heads(Folds("clip", 0, {}), {})
    folds = make_folds(items, by=BY_GROUP if speakers else ())
    said = json.dumps([[item.clip, folds.of[item.clip]] for item in items]).encode()
    content = b"".join(np.ascontiguousarray(part).tobytes() for part in (vectors, wanted))
    key = hashlib.sha256(said + content).hexdigest() + f" {vectors.shape} {wanted.shape} {one_each}"
    if key not in _KEPT:
        if len(_KEPT) >= _MOST_KEPT:
            _KEPT.pop(next(iter(_KEPT)))
        fold_of = np.array([folds.of[item.clip] for item in items])
        heads = {}
        for fold in range(folds.count):
            mine = fold_of != fold
            if np.count_nonzero(wanted[mine].any(axis=0)) >= _TWO or (not one_each and mine.any()):
                heads[fold] = train_classes(vectors[mine][:, None, :], wanted[mine], one_each=one_each)
        _KEPT[key] = Heads(folds, heads)
    return _KEPT[key]
