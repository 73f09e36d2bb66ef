"""Vectors of a collection's texts and of transcripts, by the text encoder of a chain: computed once, kept on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Samples, Setting, TextEncoder, TextRole
from codec_superb.applications.text.nearest import Graph, build
from codec_superb.applications.text.search import EXACT
from codec_superb.applications.text.tokens import check_text
from codec_superb.data_manifests import Dataset
from codec_superb.data_manifests.collections import Collection
from codec_superb.data_manifests.files import replacing
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.probing.chain import SecondPlan
from codec_superb.pipeline.probing.embedding import Embedder, TextBlock
from codec_superb.pipeline.probing.predictions import Answer, Failure, model_digest
from codec_superb.pipeline.probing.vector_store import CollectionVectors, TextRows, folder_of, key_of

BLOCK = 256
"""Texts of a block: what a killed command has to embed again, at most, for each worker."""


class StoredTextVectors:
    """Implements :class:`~codec_superb.applications.interface.TextVectors` for the encoder of a chain."""

    def __init__(self, plan: SecondPlan, dataset: Dataset, embedder: Embedder) -> None:
        """Load nothing until a vector is asked for that is not on disk."""
        stage = plan.stage
        if not isinstance(stage, TextEncoder):
            raise TypeError(f"{plan.model.name} encodes no texts")
        self._encoder: TextEncoder = stage
        self._name = plan.model.name
        self._dataset = dataset
        self._embedder = embedder
        self._folder = folder_of(model_digest(plan.model))
        self._texts: dict[TextRole, TextRows] = {}
        self._search = plan.search
        self._graphs: dict[tuple[str, TextRole], Graph] = {}

    @property
    def search(self) -> Mapping[str, Setting]:
        """Settings that tell how rows are found."""
        return self._search.settings()

    def nearest(self, name: str, role: TextRole, queries: Samples) -> NDArray[np.int64] | None:
        """Return what the index of a collection finds, which is kept on disk; None where search is exact."""
        if self._search.search == EXACT:
            return None
        if (name, role) not in self._graphs:
            self._graphs[name, role] = self._graph(name, role)
        return self._graphs[name, role].nearest(queries, self._search.ef)

    def of_collection(self, name: str, role: TextRole) -> Samples:
        """Return the vectors of a collection's texts, memory-mapped, ``(rows, dimensions)`` in its order.

        Raises PipelineError, naming the row, for a text without a vector.
        """
        collection = self._dataset.collection(name)
        stored = CollectionVectors(self._folder, collection.sha256, role)
        whole = stored.whole()
        if whole is not None:
            return whole
        with stored.writing(self._embedder.progress):
            whole = stored.whole()
            return self._made(collection, stored, role) if whole is None else whole

    def of_texts(self, texts: Sequence[str], role: TextRole) -> Samples:
        """Return the vectors of texts, ``(texts, dimensions)``. Raises PipelineError for a text without one."""
        answers = self.answers(texts, role)
        for text, answer in zip(texts, answers, strict=True):
            if isinstance(answer, Failure):
                raise PipelineError(f"{self._name} has no vector of {text[:60]!r}: {answer.reason}")
        return np.stack([np.asarray(answer, np.float32) for answer in answers])

    def answers(self, texts: Sequence[str], role: TextRole) -> list[Answer]:
        """Return a vector or a failure for each text, in order; a failed one is tried again in the next call."""
        keys = [_key(text) for text in texts]
        rows = self._texts.setdefault(role, TextRows(self._folder, role))
        known = rows.refresh()
        wanted = {key: text for key, text in zip(keys, texts, strict=True) if isinstance(key, bytes)}
        failures: dict[bytes, Failure] = {}
        if wanted.keys() - known.keys():
            with rows.writing(self._embedder.progress):
                known = rows.refresh()
                failures = self._embed({key: text for key, text in wanted.items() if key not in known}, rows, role)
        return [key if isinstance(key, Failure) else failures[key] if key in failures else known[key] for key in keys]

    def _embed(self, missing: dict[bytes, str], rows: TextRows, role: TextRole) -> dict[bytes, Failure]:
        """Embed and store texts; return the failures."""
        failures: dict[bytes, Failure] = {}
        if not missing:
            return failures
        progress = self._embedder.progress
        progress.start(f"{self._name} on texts", len(missing))
        for block, answers in self._embedder.embed(_blocks(missing.values()), role):
            found = {key_of(text): answer for text, answer in zip(block.texts, answers, strict=True)}
            failures |= {key: answer for key, answer in found.items() if isinstance(answer, Failure)}
            vectors = {key: answer for key, answer in found.items() if key not in failures}
            if vectors:
                rows.put(list(vectors), self._stacked(list(vectors.values()), "texts"))
            progress.advance(len(answers))
        return failures

    def _made(self, collection: Collection, stored: CollectionVectors, role: TextRole) -> Samples:
        """Embed the blocks of a collection that are missing, and join all."""
        count = len(collection)
        if not count:
            raise PipelineError(f"{self._dataset.name}: the collection {collection.name} is empty; index it again")
        blocks = -(-count // BLOCK)
        done = [stored.has(number) for number in range(blocks)]
        progress = self._embedder.progress
        progress.start(f"{self._name} on {collection.name} of {self._dataset.name}", count, BLOCK * sum(done[:-1]))
        texts = (self._document(row.title, row.text, role) for row in collection.rows())
        missing = (block for block in _blocks(texts) if not done[block.number])
        for block, answers in self._embedder.embed(missing, role):
            for row, answer in enumerate(answers, block.number * BLOCK):
                if isinstance(answer, Failure):
                    raise PipelineError(
                        f"{self._dataset.name}: {self._name} has no vector of {collection.ids[row]!r} in the "
                        f"collection {collection.name}: {answer.reason}; correct or leave out that text"
                    )
            stored.put(block.number, self._stacked(answers, collection.name))
            progress.advance(len(answers))
        return stored.join(count, blocks)

    def _graph(self, name: str, role: TextRole) -> Graph:
        """Open the index of a collection; build it where there is none, or a damaged one."""
        vectors = self.of_collection(name, role)
        stored = CollectionVectors(self._folder, self._dataset.collection(name).sha256, role)
        progress = self._embedder.progress
        with stored.writing(progress):
            try:
                return Graph(stored.links, vectors)
            except ValueError:
                progress.start(f"index of {name} of {self._dataset.name}", len(vectors), 0)
                with replacing(stored.links) as temporary:
                    build(vectors, temporary, progress.advance)
        return Graph(stored.links, vectors)

    def _document(self, title: str, text: str, role: TextRole) -> str:
        return self._encoder.document(title, text) if role == "document" else text

    def _stacked(self, answers: Sequence[Answer], of: str) -> Samples:
        """Return the vectors as rows. Raises PipelineError where they are none, or of different lengths."""
        shapes = {answer.shape for answer in answers if isinstance(answer, np.ndarray)}
        if len(shapes) != 1 or len(next(iter(shapes))) != 1:
            got = " and ".join(map(str, sorted(shapes))) or "texts"
            raise PipelineError(
                f"{self._name} on {of}: expected vectors of one length, got {got}; choose another model"
            )
        return np.stack([np.asarray(answer, np.float32) for answer in answers])


def _key(text: str) -> bytes | Failure:
    """Return the key of a text, or why it is not embedded."""
    try:
        check_text(text)
    except PredictionFailed as error:
        return Failure(f"PredictionFailed: {error}", final=True)
    return key_of(text)


def _blocks(texts: Iterable[str]) -> Iterator[TextBlock]:
    """Divide texts into numbered blocks of the same size, but for the last."""
    left, number = iter(texts), 0
    while part := tuple(islice(left, BLOCK)):
        yield TextBlock(number, part)
        number += 1
