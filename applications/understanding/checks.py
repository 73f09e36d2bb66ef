"""What is wrong with a task or a prompt beyond the types of its fields: names that do not exist, templates."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from jinja2 import TemplateSyntaxError

from codec_superb.applications.task_definitions.definition import DEFAULT, PromptDefinition, TaskFile, Use
from codec_superb.applications.task_definitions.template import compiled
from codec_superb.applications.understanding.measures.table import MEASURES
from codec_superb.applications.understanding.processes.table import PROCESSES

Place = tuple[str | int, ...]
"""Names of fields and positions from the outermost."""
Fault = tuple[Place, str]
LABELS = ("text", "language", "speaker", "emotion", "events", "question", "choices", "answers")
"""Labels of a clip that have a name of their own; any other column of a dataset is ``extra:NAME``."""

_CONTROL = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069]")
"""Control characters, and Unicode's overrides of direction (UAX 9); joiners belong to words of many scripts."""


def asks(written: str) -> bool:
    """Whether what stands under ``prompt`` is the question itself, and not the name of a prompt."""
    return " " in written.strip()


def task_faults(task: TaskFile, *, templates: bool = True) -> Iterator[Fault]:
    """Yield what is wrong with a task by itself; whether its prompts exist is the registry's to say."""
    if not _plain(task.title):
        yield ("title",), f"title: expected text of one line without control characters, got {task.title!a}"
    yield from _label_faults(("label",), task.label)
    for number, need in enumerate(task.needs):
        yield from _label_faults(("needs", number), need)
    for number, step in enumerate(task.after):
        yield from _use_faults(("after", number), step, PROCESSES, "post-processor")
    yield from _use_faults(("measure",), task.measure, MEASURES, "measure")
    yield from _class_faults(task.classes)
    if DEFAULT not in task.prompt:
        yield ("prompt",), f"prompt: expected one named {DEFAULT}, for chats without their own; add it"
    for family, written in task.prompt.items():
        if templates and asks(written):
            yield from _template_faults(("prompt", family), written)


def prompt_faults(prompt: PromptDefinition) -> Iterator[Fault]:
    """Yield what is wrong with the templates of a prompt."""
    for turn, message in enumerate(prompt.messages):
        for number, part in enumerate(message.contents):
            place: Place = ("messages", turn, "contents", number)
            if part.type == "audio" and part.value:
                yield place, "value: expected none beside type: audio, which is the clip's sound; take it out"
            yield from _template_faults((*place, "value"), part.value)


def unknown(name: str, known: Collection[str], kind: str) -> str:
    """Return the sentence about a name that does not exist, with near matches."""
    near = difflib.get_close_matches(name, known, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(sorted(known)[:20])}"
    return f"there is no {kind} {name!r}; {hint}"


def _label_faults(place: Place, label: str) -> Iterator[Fault]:
    kind, colon, own = label.partition(":")
    if (kind in LABELS and not colon) or (kind == "extra" and own):
        return
    yield place, f"{place[0]}: {unknown(label, LABELS, 'label')}; a column of your own is extra:{own or label}"


def _plain(text: str) -> bool:
    """Whether a text is safe on a terminal and on a page: no escape, and nothing that turns what follows around."""
    return not _CONTROL.search(text)


def _use_faults(place: Place, use: Use, table: Mapping[str, Any], kind: str) -> Iterator[Fault]:
    if use.name not in table:
        yield place, unknown(use.name, table, kind)
        return
    row = table[use.name]
    for name in use.arguments:
        if name not in row.arguments:
            said = unknown(name, row.arguments, "argument") if row.arguments else f"it takes none, take {name} out"
            yield (*place, name), f"{use.name}: {said}"
    for name in row.required:
        if name not in use.arguments:
            yield place, f"{use.name}: the argument {name} is missing: state it"


def _class_faults(classes: tuple[str, ...]) -> Iterator[Fault]:
    seen: dict[str, str] = {}
    for number, name in enumerate(classes):
        if not name.strip():
            yield ("classes", number), "classes: expected a name, got an empty text"
        elif not _plain(name):
            yield ("classes", number), f"classes: expected text without control characters, got {name!a}"
        elif other := seen.get(name.casefold()):
            yield ("classes", number), f"classes: {name!r} is there already as {other!r}, take one out"
        seen[name.casefold()] = name


def _template_faults(place: Place, text: str) -> Iterator[Fault]:
    try:
        compiled(text)
    except TemplateSyntaxError as error:
        yield place, f"template, line {error.lineno}: {error.message}"
