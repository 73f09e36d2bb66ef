"""Measures of choice questions: the letter that is stated, or the text of an option."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import ascii_uppercase

from codec_superb.applications.task_definitions.definition import Argument
from codec_superb.applications.understanding.cases import Case, Verdict
from codec_superb.applications.understanding.measures.table import Measure
from codec_superb.applications.understanding.processes.options import LETTERS, letter
from codec_superb.applications.understanding.processes.texts import named

_LETTERED = re.compile(r"^\s*[(\[]?([A-Za-z])[)\].:]\s*(.*\S)\s*$", re.DOTALL)
"""An option that begins with its letter: ``(A) a dog``, ``B. two``."""


def choices(_: Mapping[str, Argument], __: Sequence[Case]) -> Measure:
    """Read an option by its text alone, by its letter, or by its text inside the answer, in this order.

    The right answer may be given as text or as letter; options stand for A, B, C… in their order.
    """

    def measure(answer: str, case: Case) -> Verdict:
        options = [_text(name) for name in case.options][: len(ascii_uppercase)]
        if not options:
            return _lettered(answer, case, LETTERS)
        right = {at for truth in case.truth for at in _places(truth, options)}
        at = _read(answer, options)
        return Verdict(at in right, None if at is None else ascii_uppercase[at])

    return measure


def letters(arguments: Mapping[str, Argument], _: Sequence[Case]) -> Measure:
    """Read a letter among ``letters`` (ABCD), or among as many as the clip has options, and compare it with the label.

    Words that end in ``a`` or begin with it are none: ``answer is an eagle`` is unreadable.
    """
    known = str(arguments.get("letters", LETTERS))

    def measure(answer: str, case: Case) -> Verdict:
        return _lettered(answer, case, ascii_uppercase[: len(case.options)] if case.options else known)

    return measure


def _lettered(answer: str, case: Case, known: str) -> Verdict:
    options = [_text(name) for name in case.options][: len(ascii_uppercase)]
    right = {ascii_uppercase[at] for truth in case.truth for at in _places(truth, options)}
    if not options:
        right = {letter(truth, known) for truth in case.truth} - {""}
    read = letter(answer, known) or None
    return Verdict(read in right, read)


def _read(answer: str, options: Sequence[str]) -> int | None:
    plain = _plain(answer)
    same = [at for at, text in enumerate(options) if _plain(text) == plain]
    if len(same) == 1:
        return same[0]
    stated = letter(answer, ascii_uppercase[: len(options)])
    if stated:
        return ascii_uppercase.index(stated)
    found = named(answer, tuple(options))
    return options.index(found[0]) if len(found) == 1 else None


def _places(truth: str, options: Sequence[str]) -> list[int]:
    """Return the places of options that a right answer names: by text, else by letter."""
    plain = _plain(_text(truth))
    by_text = [at for at, text in enumerate(options) if _plain(text) == plain]
    sign = truth.strip().strip("()[].:").upper()
    lettered = _LETTERED.match(truth)
    if not by_text and lettered:
        sign = lettered.group(1).upper()
    by_letter = [ascii_uppercase.index(sign)] if len(sign) == 1 and sign in ascii_uppercase[: len(options)] else []
    return by_text or by_letter


def _text(option: str) -> str:
    lettered = _LETTERED.match(option)
    return lettered.group(2) if lettered else option.strip()


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .。!'\"")
