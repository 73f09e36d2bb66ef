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


_TEXTS, _FIELDS, _OPTIONS = f"{_HERE}.texts", f"{_HERE}.fields", f"{_HERE}.options"
_ROWS = (
    ProcessRow("first_line", f"{_TEXTS}:first_line", "the first line that is not empty"),
    ProcessRow("lower", f"{_TEXTS}:lower", "lower case"),
    ProcessRow("strip_punctuation", f"{_TEXTS}:strip_punctuation", "spaces for punctuation, runs of spaces joined"),
    ProcessRow(
        "strip_tags", f"{_TEXTS}:strip_tags",
        "without <|…|>; spaces joined, none before a mark; 'spaces: none' for Chinese takes all of them", ("spaces",),
    ),
    ProcessRow("cut_at", f"{_TEXTS}:cut_at", "what stands before the first of 'texts'", ("texts",), ("texts",)),
    ProcessRow("after_text", f"{_TEXTS}:after_text", "what stands behind the last 'text'", ("text",), ("text",)),
    ProcessRow("eliminate", f"{_TEXTS}:eliminate", "without 'texts' wherever they occur", ("texts",), ("texts",)),
    ProcessRow(
        "phrase", f"{_TEXTS}:phrase", "the only one of 'phrases' that occurs, as whole words", ("phrases",),
        ("phrases",),
    ),
    ProcessRow("yes_no", f"{_TEXTS}:yes_no", "yes or no, as the answer states, begins or ends with it"),
    ProcessRow("text_normalizer", f"{_TEXTS}:text_normalizer", "Whisper's basic normaliser"),
    ProcessRow("en_text_normalizer", f"{_TEXTS}:en_text_normalizer", "Whisper's English normaliser"),
    ProcessRow("zh_text_normalizer", f"{_TEXTS}:zh_text_normalizer", "numbers written out in Chinese, no punctuation"),
    ProcessRow("json_content", f"{_FIELDS}:json_content", "'content' of a JSON object, fenced or not"),
    ProcessRow("field", f"{_FIELDS}:field", "the field 'key' of a JSON object", ("key", "default"), ("key",)),
    ProcessRow("extract_text", f"{_FIELDS}:extract_text", "'text' of a JSON object"),
    ProcessRow("extract_audio", f"{_FIELDS}:extract_audio", "'audio' of a JSON object"),
    ProcessRow(
        "first_option", f"{_OPTIONS}:first_option",
        "the letter of the option that is stated, among 'options' (ABCD); else 'default' (none)",
        ("options", "default"),
    ),
)  # fmt: skip
PROCESSES: dict[str, ProcessRow] = {row.name: row for row in _ROWS}


def processed(answer: str, steps: Sequence[Use]) -> str:
    """Return an answer after the steps of a task, in order."""
    for step in steps:
        function: Process = load(PROCESSES[step.name].target)
        answer = function(answer, step.arguments)
    return answer
