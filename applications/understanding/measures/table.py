"""The table of measures: a name in a task file, the function that makes it, and the kind of what it keeps of a clip.

A target is a maker ``(arguments, cases) -> measure``, called once for the clips of a run with all their cases (some
measures weigh words by how many clips have them); a measure is a pure function ``(answer, case) -> Result`` of a
post-processed answer, with the result type of its kind (:mod:`codec_superb.applications.understanding.cases`). Of a
judged measure the target reads the replies about one answer (``judging/reading.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from codec_superb.applications.task_definitions.definition import Argument, Use
from codec_superb.applications.understanding.cases import Case, Result
from codec_superb.plugins import load

Measure = Callable[[str, Case], Result]
Maker = Callable[[Mapping[str, Argument], Sequence[Case]], Measure]
KindName = Literal["choice", "edits", "bleu", "instructions", "value", "rating", "pair", "scores"]
_HERE = "codec_superb.applications.understanding.measures"
_JUDGED = "codec_superb.applications.understanding.judging.reading"


@dataclass(frozen=True, slots=True)
class MeasureRow:
    """One row of the table."""

    name: str
    kind: KindName
    target: str
    """``module:function``."""
    summary: str
    arguments: tuple[str, ...] = ()
    """Names of the arguments that it takes."""
    required: tuple[str, ...] = ()
    """Those that it cannot do without."""
    version: str = "1"
    """A change of numbers changes it."""
    extra: str = ""
    """Extra of this package that it needs."""
    judged: bool = False
    """Whether another model judges: a second pass with a journal of its own."""


_JUDGES: tuple[tuple[str, KindName, str, str], ...] = (
    ("airbench", "scores", "airbench", "a judge scores the answer beside the right one, 1 to 10, both places"),
    ("pair", "pair", "pair", "a judge prefers the answer or the one of the label, asked in both orders"),
    ("rating", "rating", "rating_of_ten", "a judge rates the answer, 1 to 10"),
    ("reference-qa", "choice", "yes_or_no", "a judge says whether the answer states the right one"),
    ("voicebench-qa", "choice", "yes_or_no", "as judge-reference-qa, the majority of three"),
    ("open-qa", "rating", "rating_of_five", "a judge rates the answer, 1 to 5, mean of three"),
)
"""Name behind ``judge-``, kind, reader of replies, summary."""
_ROWS = (
    MeasureRow(
        "prefix-match", "choice", f"{_HERE}.matching:prefix_match",
        "the answer begins with the label, whatever the case; the label is tried without spaces too",
    ),
    *(
        MeasureRow(f"judge-{name}", kind, f"{_JUDGED}:{reader}", summary, ("context",), judged=True)
        for name, kind, reader, summary in _JUDGES
    ),
)  # fmt: skip
MEASURES: dict[str, MeasureRow] = {row.name: row for row in _ROWS}


def made(use: Use, cases: Sequence[Case]) -> Measure:
    """Return the measure that a task names, for the clips of a run. Raises MissingPackage with the install command."""
    maker: Maker = load(MEASURES[use.name].target)
    return maker(use.arguments, cases)
