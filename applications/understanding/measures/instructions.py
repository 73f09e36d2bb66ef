"""Measure ``ifeval``: instructions that a program can verify (Zhou et al. 2023, arXiv 2311.07911)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from codec_superb.applications.packages import require_packages
from codec_superb.applications.task_definitions.definition import Argument
from codec_superb.applications.understanding.cases import Case, Kept, LeftOut
from codec_superb.applications.understanding.measures.instruction_kinds import INSTRUCTIONS, LANGUAGE, IsKept
from codec_superb.applications.understanding.measures.table import Measure

Asked = tuple[tuple[IsKept, Mapping[str, Any]], ...]


def ifeval(arguments: Mapping[str, Argument], cases: Sequence[Case]) -> Measure:
    """Count the instructions that an answer keeps, strictly, and in the best of eight forms of it.

    The dataset's own labels ``instructions`` (``instruction_id_list``) and ``kwargs`` hold, as JSON, the identifiers
    and the parameters of each. A clip with an unknown one, or with parameters of another form, is left out. Raises
    MissingPackage where a clip asks for a language.
    """
    names = str(arguments.get("instructions", "instruction_id_list")), str(arguments.get("kwargs", "kwargs"))
    if any(LANGUAGE in case.extra.get(names[0], "") for case in cases):
        require_packages("the language of answers", "languages", "langdetect")

    def measure(answer: str, case: Case) -> Kept | LeftOut:
        asked = _asked(case, *names)
        if isinstance(asked, LeftOut):
            return asked
        try:
            strict = sum(_is_kept(is_kept, answer, given) for is_kept, given in asked)
            forms = tuple(_forms(answer))
            loose = sum(any(_is_kept(is_kept, form, given) for form in forms) for is_kept, given in asked)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            return LeftOut(f"parameters of an instruction: {type(error).__name__} {error}")
        return Kept(len(asked), strict, loose)

    return measure


def _asked(case: Case, identifiers: str, parameters: str) -> Asked | LeftOut:
    try:
        names, given = (json.loads(case.extra[name]) for name in (identifiers, parameters))
    except (KeyError, ValueError, RecursionError):
        return LeftOut(f"expected JSON in the labels {identifiers} and {parameters}")
    if not isinstance(names, list) or not isinstance(given, list) or len(names) != len(given) or not names:
        return LeftOut(f"expected as many entries in {parameters} as in {identifiers}, at least one")
    unknown = [name for name in names if not isinstance(name, str) or name not in INSTRUCTIONS]
    if unknown:
        return LeftOut(f"there is no instruction {unknown[0]!r}")
    return tuple(
        (INSTRUCTIONS[name], of if isinstance(of, dict) else {}) for name, of in zip(names, given, strict=True)
    )


def _is_kept(is_kept: IsKept, answer: str, given: Mapping[str, Any]) -> bool:
    # asked of an empty text too, so that wrong parameters are found whatever the answer is
    found = is_kept(answer, given)
    return bool(answer.strip()) and found


def _forms(answer: str) -> Iterator[str]:
    lines = answer.split("\n")
    for part in (lines, lines[1:], lines[:-1], lines[1:-1]):
        text = "\n".join(part).strip() if part is not lines else answer
        yield text
        yield text.replace("*", "")
