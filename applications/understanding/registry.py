"""Finds tasks and prompts in YAML files: the package's, those of ``--tasks DIR``, and those of installed distributions.

A file holds one document or several, divided by ``---``: a task (:class:`TaskFile`) or a prompt (``prompt: NAME`` with
``messages``). Everything is checked when it is read: unknown fields, prompts, processes and measures are errors that
name the file, the line and near matches.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml
from jinja2 import TemplateSyntaxError
from pydantic import ValidationError

from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.task_definitions.definition import (
    DEFAULT,
    MessageTemplate,
    PartTemplate,
    PromptDefinition,
    TaskDefinition,
    TaskFile,
    Use,
)
from codec_superb.applications.task_definitions.template import compiled
from codec_superb.applications.understanding.measures.table import MEASURES
from codec_superb.applications.understanding.processes.table import PROCESSES
from codec_superb.field_faults import sentences

LARGEST = 1 << 20
"""Bytes of a file."""


class TaskError(ApplicationError):
    """A task or prompt file is wrong; the text names the file, the line, what was expected, and what to do."""


@dataclass(slots=True)
class Registry:
    """Tasks and prompts by name, with the place that each was read from."""

    tasks: dict[str, TaskFile] = field(default_factory=dict)
    prompts: dict[str, PromptDefinition] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    """File and line by ``task NAME`` and ``prompt NAME``."""

    def definition(self, name: str) -> TaskDefinition:
        """Return a task with its prompts. Raises TaskError for a prompt that does not exist."""
        task = self.tasks[name]
        place = self.places[f"task {name}"]
        return TaskDefinition(task=task, prompts={of: self._prompt(task, of, place) for of in task.prompt})

    def _prompt(self, task: TaskFile, family: str, place: str) -> PromptDefinition:
        written = task.prompt[family]
        if " " in written.strip():
            return PromptDefinition(name=task.task, messages=_asked(written))
        if written not in self.prompts:
            raise TaskError(f"{place}: prompt.{family}: {unknown(written, self.prompts, 'prompt')}")
        return self.prompts[written]

    def definitions(self) -> dict[str, TaskDefinition]:
        """Return all tasks with their prompts. Raises TaskError."""
        return {name: self.definition(name) for name in self.tasks}


def _asked(question: str) -> tuple[MessageTemplate, ...]:
    """Return the messages of a question that stands in the task itself: the sound, then the question."""
    return (MessageTemplate(contents=(PartTemplate(type="audio"), PartTemplate(type="text", value=question))),)


def unknown(name: str, known: Collection[str], kind: str) -> str:
    """Return the sentence about a name that does not exist, with near matches."""
    near = difflib.get_close_matches(name, known, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(sorted(known)[:20])}"
    return f"there is no {kind} {name!r}; {hint}"


@cache
def own_registry() -> Registry:
    """Return what the program ships."""
    found = Registry()
    here = resources.files(__package__)
    for folder in ("prompts", "tasks"):
        for file in sorted((here / folder).iterdir(), key=lambda of: of.name):
            if file.name.endswith(".yaml"):
                read_file(file, found, place=f"{folder}/{file.name}")
    return found


def read_folder(folder: Path) -> Registry:
    """Return the tasks of a folder of the user's, with the program's prompts beside its own. Raises TaskError."""
    files = sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")]) if folder.is_dir() else [folder]
    if not files:
        raise TaskError(f"{folder}: expected files that end in .yaml, got none; write a task there")
    found = Registry(prompts=dict(own_registry().prompts), places=dict(own_registry().places))
    for file in files:
        read_file(file, found, place=str(file))
    return found


def read_file(file: Path | Traversable, into: Registry, *, place: str) -> None:
    """Add the documents of a file. Raises TaskError."""
    try:
        text = file.read_bytes()
    except OSError as error:
        raise TaskError(f"{place}: cannot be read: {error.strerror}") from error
    if len(text) > LARGEST:
        raise TaskError(f"{place}: expected at most {LARGEST} bytes, got {len(text)}; divide the file")
    for line, document in _documents(text, place):
        _add(document, into, f"{place} line {line}")


def _documents(text: bytes, place: str) -> Iterable[tuple[int, Mapping[str, Any]]]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        nodes = list(yaml.compose_all(text.decode("utf-8"), Loader=loader))
        values = list(yaml.load_all(text.decode("utf-8"), Loader=loader))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise TaskError(f"{place}: expected YAML: {' '.join(str(error).split())}") from error
    for node, value in zip(nodes, values, strict=True):
        if not isinstance(value, dict):
            raise TaskError(f"{place} line {node.start_mark.line + 1}: expected fields of a task, got {value!r:.40}")
        yield node.start_mark.line + 1, value


def _add(document: Mapping[str, Any], into: Registry, place: str) -> None:
    try:
        if "task" in document:
            task = TaskFile.model_validate(document)
            _check_task(task, place)
            _put(into.tasks, task.task, task, into, f"task {task.task}", place)
        else:
            prompt = PromptDefinition.model_validate(document)
            _check_templates([part.value for of in prompt.messages for part in of.contents], place)
            _put(into.prompts, prompt.name, prompt, into, f"prompt {prompt.name}", place)
    except ValidationError as error:
        raise TaskError(f"{place}: {sentences(error)}") from error


def _put(found: dict[str, Any], name: str, value: object, into: Registry, key: str, place: str) -> None:
    if name in found:
        raise TaskError(f"{place}: {key} was given before, at {into.places[key]}; rename one")
    found[name] = value
    into.places[key] = place


def check_definition(definition: TaskDefinition, place: str, *, templates: bool = True) -> None:
    """Check a definition that came with a result; ``templates`` compiles its templates too. Raises TaskError."""
    task = definition.task
    _check_task(task, place, templates=templates)
    missing = [family for family in task.prompt if family not in definition.prompts]
    if missing:
        raise TaskError(f"{place}: prompts: expected one for {missing[0]}; run the task again")
    for prompt in definition.prompts.values() if templates else ():
        _check_templates([part.value for of in prompt.messages for part in of.contents], place)


def _check_task(task: TaskFile, place: str, *, templates: bool = True) -> None:
    for step in task.after:
        _check_use(step, PROCESSES, "post-processor", place)
    _check_use(task.measure, MEASURES, "measure", place)
    if templates:
        _check_templates([written for written in task.prompt.values() if " " in written.strip()], place)
    if DEFAULT not in task.prompt:
        raise TaskError(f"{place}: prompt: expected one named {DEFAULT}, for chats without their own; add it")


def _check_use(use: Use, table: Mapping[str, Any], kind: str, place: str) -> None:
    if use.name not in table:
        raise TaskError(f"{place}: {unknown(use.name, table, kind)}")
    row = table[use.name]
    for name in use.arguments:
        if name not in row.arguments:
            raise TaskError(f"{place}: {use.name}: {unknown(name, row.arguments, 'argument')}")
    for name in row.required:
        if name not in use.arguments:
            raise TaskError(f"{place}: {use.name}: the argument {name} is missing: state it")


def _check_templates(texts: Iterable[str], place: str) -> None:
    for text in texts:
        try:
            compiled(text)
        except TemplateSyntaxError as error:
            raise TaskError(f"{place}: template, line {error.lineno}: {error.message}") from error
