"""Reads files of tasks and prompts: YAML documents with the line of each field, as records or as errors by line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic import ValidationError

from codec_superb import strict_yaml
from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.task_definitions.definition import (
    MessageTemplate,
    PartTemplate,
    PromptDefinition,
    TaskFile,
)
from codec_superb.applications.understanding.checks import Fault, Place, prompt_faults, task_faults
from codec_superb.field_faults import faults

LARGEST = 1 << 20
"""Bytes of a file."""
_NODES = 50_000
"""Values of a file: 116 tasks have some 2,000."""
_DEEPEST = 16
_SHOWN = 5
"""Faults of a document that are told at once."""
_FIELDS = {
    TaskFile: tuple(TaskFile.model_fields),
    PromptDefinition: (
        "prompt", *PromptDefinition.model_fields, *MessageTemplate.model_fields, *PartTemplate.model_fields,
    ),
}  # fmt: skip


class TaskError(ApplicationError):
    """A task or prompt file is wrong; the text names the file, the line, what was expected, and what to do."""


class Entry(NamedTuple):
    """One document of a file."""

    record: TaskFile | PromptDefinition
    file: str
    lines: dict[Place, int]
    """Line of each field by its place; () is the document's first."""

    @property
    def place(self) -> str:
        """Return file and first line, for people."""
        return f"{self.file} line {self.lines[()]}"

    def at(self, place: Place) -> str:
        """Return file and line of a field, or of the nearest one around it."""
        return f"{self.file} line {_line(self.lines, place)}"


def entries(file: Path | Traversable, name: str) -> Iterator[Entry]:
    """Yield the documents of a file, which errors call ``name``. Raises TaskError."""
    for lines, value in _documents(_text(file, name), name):
        if not isinstance(value, dict):
            raise TaskError(f"{name} line {lines[()]}: expected fields of a task or a prompt, got {value!r:.40}")
        kind = _kind(value)
        try:
            record = kind.model_validate(value)
        except ValidationError as error:
            raise _refused(name, lines, _field_faults(error, kind)) from error
        found = list(task_faults(record) if isinstance(record, TaskFile) else prompt_faults(record))
        if found:
            raise _refused(name, lines, found)
        yield Entry(record, name, lines)


def _text(file: Path | Traversable, name: str) -> str:
    try:
        with file.open("rb") as stream:
            content = stream.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise TaskError(f"{name}: expected at most {LARGEST} bytes, got more; divide the file")
        return content.decode("utf-8-sig")
    except OSError as error:
        raise TaskError(f"{name}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TaskError(
            f"{name}: expected text in UTF-8: {error.reason} at byte {error.start}; save it anew"
        ) from error


def _documents(text: str, name: str) -> Iterator[tuple[dict[Place, int], Any]]:
    try:
        for node, value in strict_yaml.documents(text, nodes=_NODES, depth=_DEEPEST):
            yield dict(_lines(node, ())), value
    except yaml.MarkedYAMLError as error:
        line = f" line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise TaskError(f"{name}{line}: expected YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise TaskError(f"{name}: expected YAML: {' '.join(str(error).split())}") from error


def _lines(node: yaml.Node, place: Place) -> Iterator[tuple[Place, int]]:
    yield place, node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield from _lines(item, (*place, number))
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*place, str(key.value))
            yield from _lines(value, inner)
            yield inner, key.start_mark.line + 1  # the line of the name, also where its value begins below


def _kind(value: dict[Any, Any]) -> type[TaskFile | PromptDefinition]:
    """Return what a document is, by most of its fields, so that a misspelt one is found."""
    own = {kind: sum(key in fields for key in value) for kind, fields in _FIELDS.items()}
    return PromptDefinition if own[PromptDefinition] > own[TaskFile] or "messages" in value else TaskFile


def _field_faults(error: ValidationError, kind: type[TaskFile | PromptDefinition]) -> Iterator[Fault]:
    for (place, said), fault in zip(faults(error), error.errors(include_url=False), strict=True):
        if fault["type"] == "extra_forbidden":
            near = difflib.get_close_matches(str(place[-1]), _FIELDS[kind], n=1)
            yield place, f"{place[-1]} is unknown, " + (f"did you mean {near[0]}?" if near else "take it out")
        elif fault["type"] == "string_type" and isinstance(fault["input"], bool | int | float):
            yield place, f"{said}; YAML takes yes, no, on, off and numbers for values of their own: put it in quotes"
        else:
            yield place, said


def _refused(name: str, lines: dict[Place, int], found: Iterable[Fault]) -> TaskError:
    said = dict.fromkeys(f"line {_line(lines, place)}: {fault}" for place, fault in found)
    rest = f"; {len(said) - _SHOWN} more" if len(said) > _SHOWN else ""
    return TaskError(f"{name} {'; '.join(list(said)[:_SHOWN])}{rest}")


def _line(lines: dict[Place, int], place: Place) -> int:
    while place not in lines:
        place = place[:-1]
    return lines[place]
