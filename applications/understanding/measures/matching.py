"""Measures of right and wrong by comparing texts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from codec_superb.applications.task_definitions.definition import Argument
from codec_superb.applications.understanding.cases import Case, Verdict
from codec_superb.applications.understanding.measures.table import Measure
from codec_superb.applications.understanding.texts.tokens import runs

_WORD = re.compile(r"\w+")


def em(_: Mapping[str, Argument], __: Sequence[Case]) -> Measure:
    """Right where the stripped answer equals a right one, letter by letter; two numbers where their values are equal.

    ``3.0`` is right for ``3``, ``A`` wrong for ``a``. An empty answer is unreadable.
    """

    def measure(answer: str, case: Case) -> Verdict:
        given = answer.strip()
        number = _number(given)
        right = any(given == truth.strip() or (number is not None and number == _number(truth)) for truth in case.truth)
        return Verdict(right and bool(given), (str(number) if number is not None else given) or None)

    return measure


def prefix_match(_: Mapping[str, Argument], __: Sequence[Case]) -> Measure:
    """Right where the answer begins with a right label, whatever the case: ``Female.`` for ``female``.

    A label is tried without spaces too (``Throatclearing``). Of several labels that it begins with the longest is what
    was read. Where there are options, an answer that begins with none is unreadable; else it is read as it stands.
    """

    def measure(answer: str, case: Case) -> Verdict:
        given = answer.strip().lower()
        read = _longest([name for name in case.options or case.truth if _begins(given, name)])
        if not case.options:
            return Verdict(read is not None, read or given or None)
        return Verdict(read in case.truth, read)

    return measure


def exist_match(_: Mapping[str, Argument], __: Sequence[Case]) -> Measure:
    """Right where a right answer occurs in the answer, whatever the case, inside a word too: ``category`` for ``cat``.

    Where there are options, one of them must occur and no other that is not part of it; else nothing could be read.
    """

    def measure(answer: str, case: Case) -> Verdict:
        given = answer.strip().lower()
        if not case.options:
            right = any(truth.strip().lower() in given for truth in case.truth)
            return Verdict(right, given or None)
        there = [name for name in case.options if name.strip() and name.strip().lower() in given]
        whole = [name for name in there if not any(name != of and name.lower() in of.lower() for of in there)]
        read = whole[0] if len(whole) == 1 else None
        return Verdict(read in case.truth, read)

    return measure


def qa_exist_match(_: Mapping[str, Argument], __: Sequence[Case]) -> Measure:
    """Right where the tokens of a right answer follow one another in the answer: no match inside words.

    Tokens are runs of letters, digits and marks, and other signs one by one, after NFD and in lower case: ``cafe`` is
    not ``café``, ``1984`` not ``1,984``. As in retrieval for open questions (Chen et al. 2017, DrQA).
    """

    def measure(answer: str, case: Case) -> Verdict:
        given = runs(answer)
        return Verdict(any(_holds(given, runs(truth)) for truth in case.truth), " ".join(given) or None)

    return measure


def choice_strings_match(_: Mapping[str, Argument], __: Sequence[Case]) -> Measure:
    """Read the option all of whose words are in the answer, with none that only other options have, as MMAU does.

    ``dog and cat`` is neither ``dog`` nor ``cat``; ``the man`` is ``man``. Without options the other right answers
    play their part.
    """

    def measure(answer: str, case: Case) -> Verdict:
        given = _words(answer)
        options = case.options or case.truth
        found = [name for name in options if _chosen(given, name, options)]
        read = next((name for name in found if name in case.truth), found[0] if found else None)
        return Verdict(read in case.truth, read)

    return measure


def _begins(given: str, label: str) -> bool:
    plain = label.strip().lower()
    return given.startswith((plain, plain.replace(" ", "")))


def _longest(names: Sequence[str]) -> str | None:
    return max(names, key=len, default=None)


def _number(text: str) -> float | None:
    try:
        found = float(text.strip())
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _holds(tokens: Sequence[str], wanted: Sequence[str]) -> bool:
    count = len(wanted)
    return bool(count) and any(tokens[at : at + count] == wanted for at in range(len(tokens) - count + 1))


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def _chosen(given: frozenset[str], name: str, options: Sequence[str]) -> bool:
    mine = _words(name)
    others = frozenset[str]().union(*(_words(other) for other in options if other != name)) - mine
    return bool(mine) and mine <= given and not others & given
