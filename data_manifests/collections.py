"""Collections beside the clip list: documents, candidates, spans and terms that clips are compared with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol


class CollectionRow(NamedTuple):
    """One row of a collection."""

    id: str
    text: str
    title: str = ""
    list: str = ""
    """Key of the list that it belongs to, which a clip's label names; '' for documents."""
    start: float | None = None
    """Seconds, of a term within its clip."""
    end: float | None = None
    weight: float | None = None
    """Inverse document frequency, of a table of terms."""


class Collection(Protocol):
    """The interface of a collection."""

    name: str
    sha256: str
    """SHA-256 (hex) of its content."""

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def rows(self) -> Iterator[CollectionRow]:
        """Yield the rows in order."""
        ...
