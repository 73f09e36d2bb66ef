"""Measures of captions by meaning: ``fense`` and ``date`` as published, and with MiniLM under names of their own.

Zhou et al., "Can Audio Captions Be Evaluated with Image Caption Metrics?" (FENSE), ICASSP 2022; Niu et al., "MECAT",
arXiv:2507.23511 (DATE); both as mecat 1.1.0 computes them for XARES-LLM. ``fense:minilm`` and ``date:minilm`` have
another encoder and no detector of errors: they are other figures and stand beside no published ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np

from codec_superb.applications.task_definitions.definition import Argument
from codec_superb.applications.text.minilm import MiniLm
from codec_superb.applications.text.sentence_bert import ErrorDetector, SentenceBert, fetched, find_bert
from codec_superb.applications.understanding.cases import Case
from codec_superb.applications.understanding.measures.date_score import DELTAS, Floats, harmonic, idf, term_frequencies
from codec_superb.applications.understanding.measures.table import Measure
from codec_superb.applications.understanding.measures.xares import text_form

PERCENT = 100.0
ENCODER = "sentence-transformers/paraphrase-TinyBERT-L6-v2"
DETECTOR = "echecker_clotho_audiocaps_base.ckpt"
DETECTOR_URL = f"https://github.com/blmoistawinde/fense/releases/download/V0.1/{DETECTOR}"
DETECTOR_SHA256 = "1a719f090af70614bbdb9f9437530b7e133c48cfa4a58d964de0d47fc974a2fa"
"""As the repository of FENSE and mecat 1.1.0 state it."""
DETECTOR_BASE = "google-bert/bert-base-uncased"
THRESHOLD, PENALTY = 0.9, 0.1
"""A text of whose error the detector is surer counts a tenth."""
MOST_TOKENS = 256
"""That the detector reads, in mecat 1.1.0."""


class Meaning(Protocol):
    """What both measures need of an encoder of texts."""

    def vector(self, text: str) -> Floats:
        """Return the unit vector of a text."""

    def pieces(self, text: str) -> list[int]:
        """Return tokens with those at the ends."""

    def embedded(self, tokens: Sequence[int]) -> Floats:
        """Return embeddings before the network, without those of the ends."""

    def weighed(self, tokens: Sequence[int], weights: Floats) -> Floats:
        """Return the unit vector of weighed embeddings."""


class _MiniLm:
    """MiniLM in that form."""

    def __init__(self) -> None:
        self._encoder = MiniLm()
        self._encoder.load(self._encoder.prepare(), "cpu", 1)
        self.pieces, self.embedded = self._encoder.pieces, self._encoder.embedded

    def vector(self, text: str) -> Floats:
        found: Floats = self._encoder.embed([text], "sentence")[0].astype(np.float64)
        return found

    def weighed(self, tokens: Sequence[int], weights: Floats) -> Floats:
        vector = self._encoder.encode(tokens, weights).mean(axis=0).astype(np.float64)
        found: Floats = vector / np.linalg.norm(vector)
        return found


def fense(_: Mapping[str, Argument], __: Sequence[Case]) -> Measure:
    """Return FENSE, 0 to 100: the mean cosine to the right answers, a tenth where the detector is sure of errors.

    Texts are compared in the form of XARES-LLM. Below 0, and of no answer, it is 0. Raises MissingModel.
    """
    encoder, penalty = _published()
    return _fense(encoder, text_form, penalty)


def fense_minilm(_: Mapping[str, Argument], __: Sequence[Case]) -> Measure:
    """Return the mean cosine between an answer and its right ones, 0 to 100; below 0, and of no answer, it is 0."""
    return _fense(_minilm(), str, lambda _text: 1.0)


def date(arguments: Mapping[str, Argument], cases: Sequence[Case], answers: Mapping[str, str]) -> Measure:
    """Return DATE in percent of each answer: meaning, and how well it tells its clip from the others of the run.

    As :func:`date_minilm`; what an answer is like is a tenth where the detector is sure of errors. Raises MissingModel.
    """
    encoder, penalty = _published()
    return _date(encoder, text_form, penalty, str(arguments.get("domain", "long")), cases, answers)


def date_minilm(arguments: Mapping[str, Argument], cases: Sequence[Case], answers: Mapping[str, str]) -> Measure:
    """Return DATE of each answer, 0 to 100: meaning, and how well it tells its clip from the others of the run.

    Word pieces are weighed by how rare they are on their own side of the corpus, before they are encoded. ``domain`` is
    one of :data:`~codec_superb.applications.understanding.measures.date_score.DELTAS`.
    """
    return _date(_minilm(), str, lambda _text: 1.0, str(arguments.get("domain", "long")), cases, answers)


def published_models() -> dict[str, str]:
    """Return names and hashes of what ``fense`` and ``date`` need. Raises MissingModel, MissingPackage."""
    from codec_superb.applications.model_files import sha256_of

    return {
        "encoder_sha256": find_bert("fense", ENCODER).sha256,
        "detector_sha256": sha256_of([_detector_file()]),
        "detector_base_sha256": find_bert("fense", DETECTOR_BASE, weights=False).sha256,
    }


def _fense(encoder: Meaning, form: Callable[[str], str], penalty: Callable[[str], float]) -> Measure:
    vector = cache(encoder.vector)

    def measure(answer: str, case: Case) -> float | None:
        if not answer.strip():
            return None
        given = vector(form(answer))
        likeness = float(np.mean([given @ vector(form(truth)) for truth in case.truth]))
        return PERCENT * max(0.0, likeness * penalty(form(answer)))

    return measure


def _date(
    encoder: Meaning, form: Callable[[str], str], penalty: Callable[[str], float], domain: str,
    cases: Sequence[Case], answers: Mapping[str, str],
) -> Measure:  # fmt: skip
    own = [case for case in cases if answers.get(case.clip, "").strip()]
    scores: dict[str, float] = {}
    if own:
        given = _weighed(encoder, [form(answers[case.clip]) for case in own])
        places = [(at, truth) for at, case in enumerate(own) for truth in case.truth]
        right = _weighed(encoder, [form(truth) for _, truth in places])
        of_clip = np.zeros((len(places), len(own)))
        of_clip[np.arange(len(places)), [at for at, _ in places]] = 1.0
        similarity = (given @ right.T) @ (of_clip / of_clip.sum(axis=0))
        similarity *= np.array([penalty(form(answers[case.clip])) for case in own])[:, None]
        found = harmonic(similarity, DELTAS[domain])
        scores = {case.clip: PERCENT * float(value) for case, value in zip(own, found, strict=True)}

    def measure(answer: str, case: Case) -> float | None:
        return max(0.0, scores[case.clip]) if answer.strip() else None

    return measure


def _weighed(encoder: Meaning, texts: Sequence[str]) -> Floats:
    """Return unit vectors of texts whose word pieces are weighed, ``(texts, dimensions)``."""
    pieces = [encoder.pieces(text) for text in texts]
    embedded = [encoder.embedded(tokens) for tokens in pieces]
    rare = idf(embedded)
    found = []
    for tokens, vectors, of in zip(pieces, embedded, rare, strict=True):
        inner = term_frequencies(vectors) * of
        inner /= inner.mean()
        # [CLS] weighs as much as the heaviest piece, [SEP] as little as the lightest
        weights = np.concatenate([[inner.max()], inner, [inner.min()]])
        found.append(encoder.weighed(tokens, weights))
    return np.stack(found)


@cache
def _minilm() -> Meaning:
    return _MiniLm()


def _published() -> tuple[SentenceBert, Callable[[str], float]]:
    return _loaded(tuple(published_models().values()))


@cache
def _loaded(_hashes: tuple[str, ...]) -> tuple[SentenceBert, Callable[[str], float]]:
    """Return the encoder, and what the likeness of a text is multiplied by; loaded again where a file has changed."""
    detector = ErrorDetector(_detector_file(), find_bert("fense", DETECTOR_BASE, weights=False), MOST_TOKENS)

    @cache
    def penalty(text: str) -> float:
        # the detector reads lower case without punctuation
        return PENALTY if detector.probability(re.sub(r"[^\w\s]", "", text).lower()) > THRESHOLD else 1.0

    return SentenceBert(find_bert("fense", ENCODER)), penalty


def _detector_file() -> Path:
    return fetched("fense", DETECTOR, DETECTOR_URL, DETECTOR_SHA256, 0)
