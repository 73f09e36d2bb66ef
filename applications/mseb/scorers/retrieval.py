"""Retrieval: the rank of what a spoken question asks for among all documents, passages or spans of a collection.

Options of the task: ``collection``; ``label``, the clip's own label with the relevant ids, one a line; ``match``,
``text`` where the label is the text itself. Rows of equal texts are all relevant. Where the encoder was named with an
index, its hits stand for all documents, and how many of the ten best it finds is measured: for the references, so that
the figure is the same for all codecs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from codec_superb.applications.interface import ClipOutcome, Item, ProbeScores, ScoringInput, Setting, TextVectors
from codec_superb.applications.mseb.answers import NO_ANSWER
from codec_superb.applications.mseb.ranking import CUT
from codec_superb.applications.mseb.scorers.lookup import Relevance, collection_of
from codec_superb.applications.mseb.scorers.sides import (
    UNKNOWN,
    Vectors,
    encoder,
    matrix,
    oracle,
    own_label,
    said_nothing,
    taking_part,
)
from codec_superb.applications.probe import SIDES, Probe
from codec_superb.applications.text.search import EXACT, KEPT, Found, among, recall, search

_SAMPLE, _SEED = 500, 0
"""Queries that an index is measured on, at most, and how they are drawn."""


def score(probe: Probe, question: ScoringInput) -> ProbeScores:
    """Return, of each clip, the rank of its best relevant row and the first row, on both sides; the rank by the truth.

    A clip is left out where the collection has no row for its label. Raises ApplicationError where the model encodes no
    texts, or vectors are of different lengths.
    """
    collection = collection_of(probe, question)
    by_text = probe.option("match") == "text"
    relevance = Relevance(collection, by_text=by_text)

    def relevant(item: Item) -> frozenset[int]:
        label = own_label(item, probe.option("label"))
        return relevance.of([label] if by_text else label.split("\n"))

    def why(item: Item) -> str:
        if own_label(item, probe.option("label")) == NO_ANSWER:
            return "the question has no answer"
        return "" if relevant(item) else f"the collection {collection.name} has no row for the clip's label"

    items, outcomes = taking_part(probe, question, why)
    settings: dict[str, Setting] = {
        "documents": len(collection),
        **({"search": EXACT} if question.vectors is None else question.vectors.search),
        "cut": CUT,
        "ties": "against the relevant",
    }
    if not items:
        return ProbeScores(outcomes, settings=settings)
    documents = _Documents(encoder(probe, question), collection.name)
    truths = oracle(question, items)
    sides = [matrix(getattr(question, side), items) for side in SIDES]
    queries = np.concatenate([*sides, *(vector[None] for vector in truths.values())])
    wanted = {item.clip: relevant(item) for item in items}
    asked = [*wanted, *wanted, *truths]
    # all at once: the documents are read once
    found = documents.find(queries, [wanted[clip] for clip in asked], kept=1)
    settings |= documents.measured(_references(probe, question, lambda item: not why(item)))
    ranks, first = found.ranks.astype(float).tolist(), (found.rows[:, 0] + 1).astype(float).tolist()
    best = dict(zip(truths, ranks[2 * len(items) :], strict=True))
    for place, item in enumerate(items):
        sided = [
            {"rank": ranks[at], "top": first[at], "no_answer": said_nothing(question, side, item)}
            for side, at in zip(SIDES, (place, place + len(items)), strict=True)
        ]
        outcomes[item.clip] = ClipOutcome("ok", "", {"oracle_rank": best.get(item.clip, UNKNOWN)}, *sided)
    return ProbeScores(outcomes, settings=settings)


class _Documents:
    """The vectors of a collection, and how they are searched."""

    def __init__(self, vectors: TextVectors, name: str) -> None:
        self._texts, self._name = vectors, name
        self._vectors = vectors.of_collection(name, "document")

    def find(self, queries: Vectors, relevant: Sequence[Collection[int]], kept: int) -> Found:
        """Search as the encoder's options say."""
        rows = self._texts.nearest(self._name, "document", queries)
        if rows is None:
            return search(queries, self._vectors, relevant, kept)
        return among(queries, self._vectors, relevant, rows, kept)

    def measured(self, queries: Vectors) -> dict[str, Setting]:
        """Return the recall of a search that is not exact, among the ten best, on a seeded sample of queries."""
        if self._texts.search["search"] == EXACT:
            return {}
        chosen = np.random.default_rng(_SEED).permutation(len(queries))[:_SAMPLE]
        sample, none = queries[chosen], [()] * len(chosen)
        share = recall(self.find(sample, none, KEPT), search(sample, self._vectors, none))
        return {"search_recall10": round(share, 3), "search_recall_queries": len(chosen), "search_recall_seed": _SEED}


def _references(probe: Probe, question: ScoringInput, known: Callable[[Item], bool]) -> Vectors:
    """Return the vectors of all references with a relevant row, whether or not the codec gave anything."""
    clips = [item for item in question.items if all(map(item.label, probe.labels)) and known(item)]
    given = [question.reference.get(item.clip) for item in clips]
    return np.array([of for of in given if isinstance(of, np.ndarray) and np.isfinite(of).all()], np.float32)
