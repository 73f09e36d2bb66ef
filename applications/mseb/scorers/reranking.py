"""Reranking: where the spoken text stands among near ones, and which of many terms are the salient ones.

Options of the task: ``collection`` and ``label``, the candidates and the clip's own label that names its list; for
terms also ``truth`` and ``truth_label``, the collection of the true terms and the label that names their list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.asr.edits import count_edits
from codec_superb.applications.asr.normalise import normalised_words
from codec_superb.applications.interface import ClipOutcome, Item, ProbeScores, ScoringInput, Setting
from codec_superb.applications.mseb.ranking import Floats, average_precision, gain_of_first, rank_of
from codec_superb.applications.mseb.scorers.lookup import Listed, collection_of, lists_of
from codec_superb.applications.mseb.scorers.sides import (
    UNKNOWN,
    Vectors,
    encoder,
    oracle,
    own_label,
    said_nothing,
    taking_part,
)
from codec_superb.applications.probe import SIDES, Probe

Marks = NDArray[np.bool_]
_SETTINGS: Mapping[str, Setting] = {"score": "dot product", "ties": "against the truth"}


class Judged(NamedTuple):
    """The candidates of one text, compared with it."""

    listed: Listed
    words: int
    """Of the truth, after normalising."""
    errors: list[int]
    """Words of each candidate that are wrong."""
    same: Marks
    """Whether a candidate is the very text."""

    @property
    def equal(self) -> Marks:
        """Whether no word is wrong."""
        return np.asarray(np.array(self.errors) == 0)


def score(probe: Probe, question: ScoringInput) -> ProbeScores:
    """Return, of each clip, average precision and rank of its text, and the errors of the candidate that comes first.

    A candidate is relevant to the average precision where no word of it is wrong after normalising; the rank is that
    of the very text. Of candidates that share the best score a wrong one comes first. Clips whose list lacks their
    text are left out.
    """
    lists = lists_of(collection_of(probe, question))

    def why(item: Item) -> str:
        name = own_label(item, probe.option("label"))
        if name not in lists:
            return f"no list of candidates is called {name!r}"
        return "" if item.text in lists[name].texts else "the clip's text is none of its candidates"

    items, outcomes = taking_part(probe, question, why)
    judged: dict[tuple[str, str, str | None], Judged] = {}
    scores = _Scores(probe, question, items)
    for item in items:
        key = own_label(item, probe.option("label")), item.text or "", item.language
        of = judged[key] = judged.get(key) or _judged(lists[key[0]], *key[1:])
        best = scores.of_truth(item, of.listed)
        shared = {
            "words": float(of.words),
            "oracle_precision": UNKNOWN if best is None else average_precision(best, of.equal),
        }
        sided = [_kept(of, found) for found in scores.of_sides(item, of.listed)]
        outcomes[item.clip] = ClipOutcome("ok", "", shared, *scores.with_silence(item, sided))
    return ProbeScores(outcomes, settings=_SETTINGS)


def _judged(listed: Listed, truth: str, language: str | None) -> Judged:
    words = normalised_words(truth, language)
    errors = [count_edits(words, normalised_words(text, language)).errors for text in listed.texts]
    return Judged(listed, len(words), errors, np.array([text == truth for text in listed.texts]))


def _kept(of: Judged, scores: Floats) -> dict[str, float]:
    first = scores == scores.max()
    wrong = first & ~of.equal
    top = int(np.flatnonzero(wrong if wrong.any() else first)[0])
    return {
        "precision": average_precision(scores, of.equal),
        "rank": float(rank_of(scores, of.same)),
        "word_errors": float(of.errors[top]),
    }


def score_terms(probe: Probe, question: ScoringInput) -> ProbeScores:
    """Return, of each clip, the discounted gain of the first three of its candidate terms, and average precision.

    A candidate is relevant where it is one of the true terms, in lower case. Clips without a relevant one are left out.
    """
    lists, truths = (lists_of(collection_of(probe, question, name)) for name in ("collection", "truth"))

    def relevant(item: Item) -> Marks:
        offered = lists.get(own_label(item, probe.option("label")), Listed([], []))
        true = truths.get(own_label(item, probe.option("truth_label")), Listed([], []))
        wanted = {text.lower() for text in true.texts}
        return np.array([text.lower() in wanted for text in offered.texts], np.bool_)

    items, outcomes = taking_part(
        probe, question, lambda item: "" if relevant(item).any() else "none of the clip's candidates is a true term"
    )
    scores = _Scores(probe, question, items)
    for item in items:
        marks, listed = relevant(item), lists[own_label(item, probe.option("label"))]
        best = scores.of_truth(item, listed)
        shared = {"oracle_precision": UNKNOWN if best is None else average_precision(best, marks)}
        sided = [
            {"gain": gain_of_first(found, marks), "precision": average_precision(found, marks)}
            for found in scores.of_sides(item, listed)
        ]
        outcomes[item.clip] = ClipOutcome("ok", "", shared, *scores.with_silence(item, sided))
    return ProbeScores(outcomes, settings=_SETTINGS)


class _Scores:
    """Scores of the candidates of each clip, in float64."""

    def __init__(self, probe: Probe, question: ScoringInput, items: Sequence[Item]) -> None:
        self._question = question
        self._truths = oracle(question, items)
        self._candidates: Vectors = np.zeros((0, 0), np.float32)
        if items:
            self._candidates = encoder(probe, question).of_collection(probe.option("collection"), "sentence")

    def of_sides(self, item: Item, listed: Listed) -> list[Floats]:
        """Return the scores on both sides, each of shape ``(candidates,)``."""
        return [self._of(np.asarray(getattr(self._question, side)[item.clip]), listed) for side in SIDES]

    def of_truth(self, item: Item, listed: Listed) -> Floats | None:
        """Return the scores by the true transcript, None where the clip has none."""
        truth = self._truths.get(item.clip)
        return None if truth is None else self._of(truth, listed)

    def _of(self, query: Vectors, listed: Listed) -> Floats:
        chosen = np.asarray(self._candidates[listed.places], np.float64)
        return np.asarray(chosen @ query.astype(np.float64))

    def with_silence(self, item: Item, sided: Sequence[dict[str, float]]) -> list[dict[str, float]]:
        """Return what is kept of both sides with the count of empty transcripts."""
        return [
            {**kept, "no_answer": said_nothing(self._question, side, item)}
            for side, kept in zip(SIDES, sided, strict=True)
        ]
