"""Finds tasks and prompts: the package's, those of ``--tasks DIR``, and those of installed distributions.

A file holds one document or several, divided by ``---``: a task (:class:`TaskFile`) or a prompt (``prompt: NAME`` with
``messages``). Everything is checked when it is read: unknown fields, prompts, processes and measures are errors that
name the file, the line and near matches. A name belongs to one task, and to one prompt, over all sources.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from codec_superb.applications.task_definitions.definition import (
    MessageTemplate,
    PartTemplate,
    PromptDefinition,
    TaskDefinition,
    TaskFile,
)
from codec_superb.applications.understanding.checks import asks, prompt_faults, task_faults, unknown
from codec_superb.applications.understanding.task_files import Entry, TaskError, entries
from codec_superb.plugins import PluginError, announced, data_place, report

__all__ = ["Registry", "TaskError", "announced_tasks", "check_definition", "own_registry", "read_file", "read_folder"]
GROUP = "codec_superb.tasks"


@dataclass(slots=True)
class Registry:
    """Tasks and prompts by name, with the place that each was read from."""

    tasks: dict[str, TaskFile] = field(default_factory=dict)
    prompts: dict[str, PromptDefinition] = field(default_factory=dict)
    read: dict[str, Entry] = field(default_factory=dict)
    """What was read, by ``task NAME`` and ``prompt NAME``."""
    origins: dict[str, str] = field(default_factory=dict)
    """Distribution of the tasks that come from one, by name."""

    @property
    def places(self) -> dict[str, str]:
        """Return file and line by ``task NAME`` and ``prompt NAME``."""
        return {key: entry.place for key, entry in self.read.items()}

    def origin(self, name: str) -> str:
        """Return where a task comes from, for people."""
        return self.origins.get(name) or self.read[f"task {name}"].place

    def definition(self, name: str) -> TaskDefinition:
        """Return a task with its prompts. Raises TaskError for a prompt that does not exist."""
        task = self.tasks[name]
        return TaskDefinition(task=task, prompts={family: self._prompt(task, family) for family in task.prompt})

    def _prompt(self, task: TaskFile, family: str) -> PromptDefinition:
        written = task.prompt[family]
        if asks(written):
            return PromptDefinition(name=task.task, messages=_asked(written))
        if written not in self.prompts:
            place = self.read[f"task {task.task}"].at(("prompt", family))
            raise TaskError(f"{place}: prompt.{family}: {unknown(written, self.prompts, 'prompt')}")
        return self.prompts[written]

    def definitions(self) -> dict[str, TaskDefinition]:
        """Return all tasks with their prompts. Raises TaskError."""
        return {name: self.definition(name) for name in self.tasks}


def _asked(question: str) -> tuple[MessageTemplate, ...]:
    """Return the messages of a question that stands in the task itself: the sound, then the question."""
    return (MessageTemplate(contents=(PartTemplate(type="audio"), PartTemplate(type="text", value=question))),)


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


def read_folder(*places: Path) -> Registry:
    """Return the tasks of files and folders of the user's, with the prompts that they may use. Raises TaskError.

    Prompts are the program's, those of installed distributions, and those of the files.
    """
    others = announced_tasks()
    found = Registry(prompts=dict(others.prompts), read=dict(others.read))
    for place in places:
        for file in _files(place):
            read_file(file, found, place=str(file))
    return found


def announced_tasks() -> Registry:
    """Return the tasks of installed distributions; what cannot be read is reported once and left out.

    Raises TaskError, which shows both places, for a name that is taken.
    """
    found = Registry(prompts=dict(own_registry().prompts), read=dict(own_registry().read))
    for point in announced(GROUP):
        try:
            own = [
                entry for file in _files(data_place(point)) for entry in entries(file, f"{file} ({point.distribution})")
            ]
        except (TaskError, PluginError) as error:
            report(str(error))
            continue
        for entry in own:
            _put(entry, found)
            if isinstance(entry.record, TaskFile):
                found.origins[entry.record.task] = point.distribution
    return found


def _files(place: Path) -> Iterable[Path]:
    files = sorted([*place.glob("*.yaml"), *place.glob("*.yml")]) if place.is_dir() else [place]
    if not files:
        raise TaskError(f"{place}: expected files that end in .yaml, got none; write a task there")
    return files


def read_file(file: Path | Traversable, into: Registry, *, place: str) -> None:
    """Add the documents of a file, which errors call ``place``. Raises TaskError."""
    for entry in entries(file, place):
        _put(entry, into)


def _put(entry: Entry, into: Registry) -> None:
    record = entry.record
    key = f"task {record.task}" if isinstance(record, TaskFile) else f"prompt {record.name}"
    other = into.read.get(key)
    # a copy of a task of another source is that task
    if other is not None and not (
        isinstance(record, TaskFile) and record.task not in into.tasks and other.record == record
    ):
        raise TaskError(f"{entry.place}: {key} was given before, at {other.place}; rename one")
    into.read[key] = entry
    if isinstance(record, TaskFile):
        into.tasks[record.task] = record
    else:
        into.prompts[record.name] = record


def check_definition(definition: TaskDefinition, place: str, *, templates: bool = True) -> None:
    """Check a definition that came with a result. Raises TaskError.

    ``templates`` says whether they are read too; a receiver that never renders them does not.
    """
    missing = [family for family in definition.task.prompt if family not in definition.prompts]
    if missing:
        raise TaskError(f"{place}: prompts: expected one for {missing[0]}; run the task again")
    prompts = definition.prompts.values() if templates else ()
    parts = (task_faults(definition.task, templates=templates), *map(prompt_faults, prompts))
    if said := next((said for faults in parts for _, said in faults), None):
        raise TaskError(f"{place}: {said}")
