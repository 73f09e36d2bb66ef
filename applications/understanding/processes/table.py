"""The table of post-processors: a name in a task file, and the pure function behind it.

A function is ``(answer: str, arguments: Mapping) -> str``; an answer that it does not know passes unchanged unless its
description says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from codec_superb.applications.task_definitions.definition import Argument, Use
from codec_superb.plugins import load

_HERE = "codec_superb.applications.understanding.processes"


class Process(Protocol):
    """A post-processor."""

    def __call__(self, answer: str, arguments: Mapping[str, Argument], /) -> str:
        """Return what is measured of the answer."""
        ...


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """One row of the table."""

    name: str
    target: str
    """``module:function``."""
    summary: str
    arguments: tuple[str, ...] = ()
    """Names of the arguments that it takes."""
    required: tuple[str, ...] = ()
    """Those that it cannot do without."""


_ROWS = (
    ProcessRow("first_line", f"{_HERE}.texts:first_line", "the first line that is not empty"),
)  # fmt: skip
PROCESSES: dict[str, ProcessRow] = {row.name: row for row in _ROWS}


def processed(answer: str, steps: Sequence[Use]) -> str:
    """Return an answer after the steps of a task, in order."""
    for step in steps:
        function: Process = load(PROCESSES[step.name].target)
        answer = function(answer, step.arguments)
    return answer
