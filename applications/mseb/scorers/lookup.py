"""Rows of collections by id, by text and by list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from codec_superb.applications.interface import ScoringInput
from codec_superb.applications.probe import Probe

if TYPE_CHECKING:
    from codec_superb.data_manifests.collections import Collection, CollectionRow


class Listed(NamedTuple):
    """The rows of one list, with their places in the whole collection."""

    places: list[int]
    rows: list[CollectionRow]

    @property
    def texts(self) -> list[str]:
        """Texts, in the publisher's order."""
        return [row.text for row in self.rows]


def collection_of(probe: Probe, question: ScoringInput, option: str = "collection") -> Collection:
    """Return the collection that an option of the task names."""
    return question.collections[probe.option(option)]


def lists_of(collection: Collection) -> Mapping[str, Listed]:
    """Return the lists of a collection by their keys; '' has the rows of no list."""
    found: dict[str, Listed] = {}
    for place, row in enumerate(collection.rows()):
        listed = found.setdefault(row.list, Listed([], []))
        listed.places.append(place)
        listed.rows.append(row)
    return found


class Relevance:
    """Which rows of a collection are relevant: those with a wanted id (or text), and all others of an equal text."""

    def __init__(self, collection: Collection, *, by_text: bool) -> None:
        self._of_name: dict[str, str] = {}
        self._of_text: dict[str, list[int]] = {}
        for place, row in enumerate(collection.rows()):
            self._of_name[row.text if by_text else row.id] = row.text
            self._of_text.setdefault(row.text, []).append(place)

    def of(self, names: Sequence[str]) -> frozenset[int]:
        """Return the places of the rows that the ids (or texts) stand for; empty where there is none."""
        texts = {self._of_name[name] for name in names if name in self._of_name}
        return frozenset(place for text in texts for place in self._of_text[text])
