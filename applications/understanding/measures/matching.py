"""Measures of right and wrong by comparing texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codec_superb.applications.task_definitions.definition import Argument
from codec_superb.applications.understanding.cases import Case, Verdict
from codec_superb.applications.understanding.measures.table import Measure


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


def _begins(given: str, label: str) -> bool:
    plain = label.strip().lower()
    return given.startswith((plain, plain.replace(" ", "")))


def _longest(names: Sequence[str]) -> str | None:
    return max(names, key=len, default=None)
