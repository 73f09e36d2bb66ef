"""Measures of transcripts: edits between the answer and its label."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from codec_superb.applications.asr.edits import count_edits
from codec_superb.applications.asr.normalise import normalise, normalised_characters, unit_of
from codec_superb.applications.task_definitions.definition import Argument
from codec_superb.applications.understanding.cases import Case, Counts, LeftOut
from codec_superb.applications.understanding.measures.table import Measure
from codec_superb.applications.understanding.texts.tokens import ultraeval

_EMPTY = LeftOut("the label is empty after normalising")
Units = tuple[str, ...]


def wer(_: Mapping[str, Argument], __: Sequence[Case]) -> Measure:
    """Count errors as the ``asr`` probe does: words, or characters in Chinese, Japanese and Korean, by its normaliser.

    Of several labels the first counts. A clip whose label has no letter or digit is left out.
    """

    def measure(answer: str, case: Case) -> Counts | LeftOut:
        labels = [normalise(truth, case.language) for truth in case.truth]
        units = [label.units for label in labels if label.says_something]
        return _against(units, normalise(answer, case.language).units, unit_of(case.language) == "words")

    return measure


def cer(_: Mapping[str, Argument], __: Sequence[Case]) -> Measure:
    """Count errors in characters, whatever the language: NFKC, lower case, no spaces, punctuation and symbols."""

    def measure(answer: str, case: Case) -> Counts | LeftOut:
        units = [normalised_characters(truth) for truth in case.truth]
        return _against(units, normalised_characters(answer), in_words=False)

    return measure


def wer_ultraeval(_: Mapping[str, Argument], cases: Sequence[Case]) -> Measure:
    """Count errors over the tokens that UltraEval-Audio compares; for Chinese they count as characters.

    Raises MissingPackage where the language of a clip needs a package.
    """
    tokens: Callable[[str | None], Callable[[str], Units]] = cache(ultraeval)
    for language in {case.language for case in cases}:
        tokens(language)

    def measure(answer: str, case: Case) -> Counts | LeftOut:
        of = tokens(case.language)
        in_words = unit_of(case.language) == "words" or (case.language or "")[:2] in {"ja", "ko"}
        return _against([of(truth) for truth in case.truth], of(answer), in_words)

    return measure


def _against(labels: Sequence[Units], heard: Units, in_words: bool) -> Counts | LeftOut:
    """Count against the first label that says something: a clip has one length, whichever side is measured."""
    label = next(filter(None, labels), None)
    if label is None:
        return _EMPTY
    edits = count_edits(label, heard)
    return Counts(*edits, words=len(label)) if in_words else Counts(*edits, characters=len(label))
