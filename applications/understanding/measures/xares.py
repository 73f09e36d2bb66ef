"""Measures of XARES-LLM (0.0.12): its form of texts, accuracy by equal texts, labels, one minus an error rate."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from codec_superb.applications.asr.edits import count_edits
from codec_superb.applications.task_definitions.definition import Argument
from codec_superb.applications.understanding.cases import Case, Counts, Labelled, LeftOut, Verdict
from codec_superb.applications.understanding.measures.table import Measure

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_EMPTY = LeftOut("the label is empty in the form that is compared")


def text_form(text: str, *, punctuation: bool = False) -> str:
    """Return NFKC in lower case, hyphens as spaces, without ASCII punctuation unless it is kept, runs of spaces as one.

    A full-width comma goes, since NFKC makes an ASCII one of it; an ideographic full stop stays.
    """
    plain = unicodedata.normalize("NFKC", text).lower().replace("-", " ")
    return re.sub(r"\s+", " ", plain if punctuation else plain.translate(_PUNCTUATION)).strip()


def accuracy(_: Mapping[str, Argument], cases: Sequence[Case]) -> Measure:
    """Right where answer and label are equal in the text form; an answer that is no class is unreadable.

    Of a task that does not name its classes they are the labels of the run's clips.
    """
    labels = {text_form(label): label for case in cases for label in case.truth}

    def measure(answer: str, case: Case) -> Verdict:
        given = text_form(answer)
        classes = {text_form(name): name for name in case.options} or labels
        read = classes.get(given)
        return Verdict(read is not None and given in {text_form(truth) for truth in case.truth}, read)

    return measure


def labels(arguments: Mapping[str, Argument], cases: Sequence[Case]) -> Measure:
    """Keep the labels that an answer names, of those that clips of the run have; ``classes`` is how many there are.

    Texts are divided at semicolons as they stand: a space behind one makes another label, as published.
    """
    known = {label for case in cases for label in labels_of(case.truth)}
    classes = int(str(arguments.get("classes", 0)))

    def measure(answer: str, case: Case) -> Labelled:
        return Labelled(labels_of(case.truth), labels_of([answer]) & known, classes)

    return measure


def labels_of(texts: Iterable[str]) -> frozenset[str]:
    """Return the labels in texts, in the text form without its removal of punctuation."""
    return frozenset(label for text in texts for label in text_form(text, punctuation=True).split(";"))


def word_errors(_: Mapping[str, Argument], __: Sequence[Case]) -> Measure:
    """Count errors in the words of the text form; a label without any is left out."""

    def measure(answer: str, case: Case) -> Counts | LeftOut:
        return _counted(text_form(case.truth[0]).split(), text_form(answer).split(), in_words=True)

    return measure


def character_errors(_: Mapping[str, Argument], __: Sequence[Case]) -> Measure:
    """Count errors in the characters of the text form, of which a space is one."""

    def measure(answer: str, case: Case) -> Counts | LeftOut:
        return _counted(list(text_form(case.truth[0])), list(text_form(answer)), in_words=False)

    return measure


def _counted(label: Sequence[str], heard: Sequence[str], *, in_words: bool) -> Counts | LeftOut:
    if not label:
        return _EMPTY
    edits = count_edits(label, heard)
    size = {"words": len(label)} if in_words else {"characters": len(label)}
    return Counts(edits.substitutions, edits.deletions, edits.insertions, **size)
