"""Measures of captions by meaning, with MiniLM in place of the published encoder: ``fense:minilm``, ``date:minilm``.

Zhou et al., "Can Audio Captions Be Evaluated with Image Caption Metrics?" (FENSE), ICASSP 2022; Niu et al., "MECAT",
arXiv:2507.23511 (DATE). Both publish figures with another encoder and, of FENSE, with a detector of errors that states
no licence: figures here have names of their own and stand beside no published ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from codec_superb.applications.task_definitions.definition import Argument
from codec_superb.applications.text.minilm import MiniLm
from codec_superb.applications.understanding.cases import Case
from codec_superb.applications.understanding.measures.date_score import DELTAS, Floats, harmonic, idf, term_frequencies
from codec_superb.applications.understanding.measures.table import Measure

PERCENT = 100.0


def fense_minilm(_: Mapping[str, Argument], __: Sequence[Case]) -> Measure:
    """Return the mean cosine between an answer and its right ones, 0 to 100; below 0, and of no answer, it is 0."""
    encoder = _encoder()

    @cache
    def vector(text: str) -> Floats:
        found: Floats = encoder.embed([text], "sentence")[0].astype(np.float64)
        return found

    def measure(answer: str, case: Case) -> float | None:
        if not answer.strip():
            return None
        return PERCENT * max(0.0, float(np.mean([vector(answer) @ vector(truth) for truth in case.truth])))

    return measure


def date_minilm(arguments: Mapping[str, Argument], cases: Sequence[Case], answers: Mapping[str, str]) -> Measure:
    """Return DATE of each answer, 0 to 100: meaning, and how well it tells its clip from the others of the run.

    Word pieces are weighed by how rare they are on their own side of the corpus, before they are encoded. ``domain`` is
    one of :data:`~codec_superb.applications.understanding.measures.date_score.DELTAS`.
    """
    own = [case for case in cases if answers.get(case.clip, "").strip()]
    scores: dict[str, float] = {}
    if own:
        given = _weighed([answers[case.clip] for case in own])
        places = [(at, truth) for at, case in enumerate(own) for truth in case.truth]
        right = _weighed([truth for _, truth in places])
        of_clip = np.zeros((len(places), len(own)))
        of_clip[np.arange(len(places)), [at for at, _ in places]] = 1.0
        similarity = (given @ right.T) @ (of_clip / of_clip.sum(axis=0))
        found = harmonic(similarity, DELTAS[str(arguments.get("domain", "long"))])
        scores = {case.clip: PERCENT * float(value) for case, value in zip(own, found, strict=True)}

    def measure(answer: str, case: Case) -> float | None:
        return max(0.0, scores[case.clip]) if answer.strip() else None

    return measure


@cache
def _encoder() -> MiniLm:
    encoder = MiniLm()
    encoder.load(encoder.prepare(), "cpu", 1)
    return encoder


def _weighed(texts: Sequence[str]) -> Floats:
    """Return unit vectors of texts whose word pieces are weighed, ``(texts, dimensions)``."""
    encoder = _encoder()
    pieces = [encoder.pieces(text) for text in texts]
    embedded = [encoder.embedded(tokens) for tokens in pieces]
    rare = idf(embedded)
    found = []
    for tokens, vectors, of in zip(pieces, embedded, rare, strict=True):
        inner = term_frequencies(vectors) * of
        inner /= inner.mean()
        # [CLS] weighs as much as the heaviest piece, [SEP] as little as the lightest
        weights = np.concatenate([[inner.max()], inner, [inner.min()]])
        vector = encoder.encode(tokens, weights).mean(axis=0).astype(np.float64)
        found.append(vector / np.linalg.norm(vector))
    return np.stack(found)
