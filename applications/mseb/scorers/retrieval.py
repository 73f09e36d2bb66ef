"""Retrieval: the rank of what a spoken question asks for among all documents, passages or spans of a collection.

Options of the task: ``collection``; ``label``, the clip's own label with the relevant ids, one a line; ``match``,
``text`` where the label is the text itself. Rows of equal texts are all relevant.
"""

from __future__ import annotations

import numpy as np

from codec_superb.applications.interface import ClipOutcome, Item, ProbeScores, ScoringInput, Setting
from codec_superb.applications.mseb.answers import NO_ANSWER
from codec_superb.applications.mseb.ranking import CUT, nearest, ranks_of
from codec_superb.applications.mseb.scorers.lookup import Relevance, collection_of
from codec_superb.applications.mseb.scorers.sides import (
    UNKNOWN,
    encoder,
    matrix,
    oracle,
    own_label,
    said_nothing,
    taking_part,
)
from codec_superb.applications.probe import SIDES, Probe


def score(probe: Probe, question: ScoringInput) -> ProbeScores:
    """Return, of each clip, the rank of its best relevant row on both sides and by the true transcript, 0 beyond ten.

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
        "search": "exact",
        "cut": CUT,
        "ties": "against the relevant",
    }
    if not items:
        return ProbeScores(outcomes, settings=settings)
    documents = encoder(probe, question).of_collection(collection.name, "document")
    truths = oracle(question, items)
    sides = [matrix(getattr(question, side), items) for side in SIDES]
    queries = np.concatenate([*sides, *(vector[None] for vector in truths.values())])
    wanted = {item.clip: relevant(item) for item in items}
    asked = [*wanted, *wanted, *truths]
    # all at once: the documents are read once
    ranks = ranks_of(nearest(queries, documents), [wanted[clip] for clip in asked]).astype(float).tolist()
    best = dict(zip(truths, ranks[2 * len(items) :], strict=True))
    for place, item in enumerate(items):
        sided = [
            {"rank": ranks[place + number * len(items)], "no_answer": said_nothing(question, side, item)}
            for number, side in enumerate(SIDES)
        ]
        outcomes[item.clip] = ClipOutcome("ok", "", {"oracle_rank": best.get(item.clip, UNKNOWN)}, *sided)
    return ProbeScores(outcomes, settings=settings)
