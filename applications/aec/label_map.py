"""Maps the labels of a dataset to classes of a model, such as those of AudioSet.

A label that is word for word a class of the model stands for itself: AudioSet's labels, and a zero-shot model whose
classes are the dataset's labels. Otherwise the dataset's own map (``labels_<dataset>.yaml``) applies, and after it the
name alone, without case and punctuation (``Accelerating_and_revving_and_vroom`` is ``Accelerating, revving, vroom``).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

FOLDER = Path(__file__).parent


class LabelMap(BaseModel):
    """The map of one dataset."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    classes: dict[str, tuple[str, ...]]
    """Label of the dataset to names of AudioSet's classes, any of which counts as the label."""
    without: dict[str, str] = Field(default_factory=dict)
    """Label without a fair counterpart to the reason."""


class Counterparts:
    """Where the labels of one dataset are found among the classes of one model."""

    def __init__(self, dataset: str, labels: Iterable[str], classes: Sequence[str]) -> None:
        own = label_map(dataset)
        exact = {name: position for position, name in enumerate(classes)}
        loose = {_words(name): position for position, name in enumerate(classes)}
        self.positions: dict[str, tuple[int, ...]] = {}
        """Label to positions among the model's classes; sorted by label."""
        self.reasons: dict[str, str] = {}
        """Label without a counterpart to the reason."""
        for label in sorted(set(labels)):
            positions = _positions(label, own, exact, loose)
            if positions:
                self.positions[label] = positions
            else:
                self.reasons[label] = own.without.get(label, f"the model has no class for {label!r}")

    def of(self, labels: Iterable[str]) -> tuple[str, ...]:
        """Return those of a clip's labels that have a counterpart, each once, sorted."""
        return tuple(sorted(set(labels) & self.positions.keys()))

    def why_not(self, labels: Sequence[str]) -> str:
        """Return why a clip with these labels is left out."""
        return "; ".join(dict.fromkeys(self.reasons[label] for label in labels))


@functools.cache
def label_map(dataset: str) -> LabelMap:
    """Return the map of a dataset, an empty one where none is written."""
    if dataset not in mapped_datasets():
        return LabelMap(classes={})
    data: dict[str, Any] = yaml.safe_load((FOLDER / f"labels_{dataset}.yaml").read_text(encoding="utf-8"))
    return LabelMap.model_validate(data)


def mapped_datasets() -> tuple[str, ...]:
    """Names of the datasets that have a map."""
    return tuple(sorted(path.stem.removeprefix("labels_") for path in FOLDER.glob("labels_*.yaml")))


def _positions(
    label: str, own: LabelMap, exact: Mapping[str, int], loose: Mapping[tuple[str, ...], int]
) -> tuple[int, ...]:
    if label in exact:
        return (exact[label],)
    if label in own.without:
        return ()
    if label in own.classes:
        return tuple(exact[name] for name in own.classes[label] if name in exact)
    position = loose.get(_words(label))
    return () if position is None else (position,)


def _words(name: str) -> tuple[str, ...]:
    # FSD50K writes 'Boat_and_Water_vehicle' where AudioSet has 'Boat, Water vehicle'.
    return tuple(word for word in re.findall(r"[^\W_]+", name.lower()) if word != "and")
