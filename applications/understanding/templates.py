"""Renders prompts for a clip, in Jinja's sandbox: templates may come from strangers.

A template sees ``question``, ``choices``, ``classes``, ``language`` and ``extra`` (the dataset's own labels by name),
all of them plain texts and lists of texts, and nothing else: no file, no loader, no right answer.
"""

from __future__ import annotations

from typing import Any

from jinja2 import TemplateError

from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Item
from codec_superb.applications.task_definitions.messages import Message, Part, Prompt
from codec_superb.applications.task_definitions.template import rendered


def render(prompt: Prompt, item: Item) -> tuple[Message, ...]:
    """Return the messages of a prompt for a clip. Raises PredictionFailed where a template has no value for it."""
    known = _variables(prompt, item)
    try:
        return tuple(
            message._replace(parts=tuple(_part(part, known) for part in message.parts)) for message in prompt.messages
        )
    except (TemplateError, ArithmeticError, ValueError, TypeError, LookupError, MemoryError) as error:
        raise PredictionFailed(f"prompt {prompt.name}: {error}") from error


def _part(part: Part, known: dict[str, Any]) -> Part:
    if part.kind == "audio":
        return part
    return part._replace(text=rendered(part.text, known))


def _variables(prompt: Prompt, item: Item) -> dict[str, Any]:
    found: dict[str, Any] = {"classes": list(prompt.classes), "choices": list(item.choices), "extra": dict(item.extra)}
    if item.question:
        found["question"] = item.question
    if item.language:
        found["language"] = item.language
    return found
