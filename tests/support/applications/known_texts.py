"""Collections on disk, and vectors of texts that a test chooses, for tests of scorers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.interface import Item, Prediction, Samples, ScoringInput, Setting, TextRole
from codec_superb.data_manifests.collections import Collection, CollectionRow, writing_collections
from codec_superb.data_manifests.collections import open_collection as _open


def collections_of(folder: Path, rows: Mapping[str, Sequence[CollectionRow]]) -> dict[str, Collection]:
    """Write collections as an indexer does, and open them."""
    with writing_collections(folder, rows) as hashes:
        pass
    return {name: _open(folder, name, sha256) for name, sha256 in hashes.items()}


class KnownVectors:
    """Vectors of texts by the text, whatever their role; as :class:`TextVectors`."""

    def __init__(
        self,
        vectors: Mapping[str, Sequence[float]],
        collections: Mapping[str, Collection],
        index: Callable[[Samples, Samples], NDArray[np.int64]] | None = None,
    ) -> None:
        self._vectors = vectors
        self._collections = collections
        self._index = index

    @property
    def search(self) -> Mapping[str, Setting]:
        """Exact, unless there is an index of the test's."""
        return {"search": "exact" if self._index is None else "test"}

    def nearest(self, name: str, role: TextRole, queries: Samples) -> NDArray[np.int64] | None:
        """Return what the index of the test finds."""
        return None if self._index is None else self._index(queries, self.of_collection(name, role))

    def of_collection(self, name: str, role: TextRole) -> Samples:
        """Return the vectors of a collection's texts."""
        return self.of_texts([row.text for row in self._collections[name].rows()], role)

    def of_texts(self, texts: Sequence[str], role: TextRole) -> Samples:
        """Return the vectors of texts."""
        return np.array([self._vectors[text] for text in texts], np.float32)


def question(
    items: Sequence[Item],
    reference: Mapping[str, Prediction],
    resynthesis: Mapping[str, Prediction] | None = None,
    collections: Mapping[str, Collection] | None = None,
    vectors: Mapping[str, Sequence[float]] | None = None,
    index: Callable[[Samples, Samples], NDArray[np.int64]] | None = None,
    **others: object,
) -> ScoringInput:
    """Ask about a run; the resynthesis is the reference where it is not given.

    ``index`` gives the rows that it finds near queries among documents, where the search is not exact.
    """
    known = collections or {}
    return ScoringInput(
        "d",
        items,
        reference,
        reference if resynthesis is None else resynthesis,
        collections=known,
        vectors=None if vectors is None else KnownVectors(vectors, known, index),
        **others,  # type: ignore[arg-type]
    )
