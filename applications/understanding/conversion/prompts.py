"""Prompts of another registry as prompts of this program: parts, and the names that templates use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, TemplateSyntaxError, meta

AUDIO = "WavPath"
_CLASSES = re.compile(r"\[([^\[\]{}]+)\]")
_EITHER = re.compile(r"either '([^']+)' or '([^']+)'")


class NoEqual(Exception):
    """Something has no equal here; the text is the reason."""


def messages_of(template: object, variables: Mapping[str, str]) -> tuple[list[dict[str, Any]], set[str]]:
    """Return the messages of a template, and the labels that they need. Raises NoEqual."""
    if isinstance(template, str):
        raise NoEqual("the prompt is one text for a model that continues texts")
    if not isinstance(template, list):
        raise NoEqual("the prompt holds the fields of one model's interface, no messages")
    needs: set[str] = set()
    messages = [_message(turn, variables, needs) for turn in template]
    if not any(part["type"] == "audio" for turn in messages for part in turn["contents"]):
        raise NoEqual("the prompt has no sound in it")
    return messages, needs


def _message(turn: Mapping[str, Any], variables: Mapping[str, str], needs: set[str]) -> dict[str, Any]:
    contents = turn.get("contents")
    if isinstance(contents, str):  # some system turns are one text
        contents = [{"type": "text", "value": contents}]
    if turn.get("role") not in ("system", "user", "assistant") or not isinstance(contents, list):
        raise NoEqual("a turn of the prompt has no role of a chat, or no contents")
    return {"role": turn["role"], "contents": [_part(part, variables, needs) for part in contents]}


def _part(part: Mapping[str, Any], variables: Mapping[str, str], needs: set[str]) -> dict[str, Any]:
    value = str(part.get("value", ""))
    if part.get("type") == "audio":
        if re.sub(r"[{}\s]", "", value) != AUDIO:
            raise NoEqual(f"the prompt has a sound beside the clip, {value}")
        return {"type": "audio"}
    if part.get("type") != "text":
        raise NoEqual(f"the prompt has a part of the kind {part.get('type')}")
    return {"type": "text", "value": renamed(value, variables, needs)}


def renamed(text: str, variables: Mapping[str, str], needs: set[str]) -> str:
    """Return a template with the names of this program, adding the labels it needs. Raises NoEqual."""
    environment = Environment(autoescape=False)  # noqa: S701 -- nothing is rendered here
    try:
        free = meta.find_undeclared_variables(environment.parse(text))
    except TemplateSyntaxError as error:
        raise NoEqual(f"the prompt is no template: {error.message}") from error
    if AUDIO in free:
        raise NoEqual("the prompt writes the path of the sound into a text")
    names = {name: variables.get(name, f"extra.{name}") for name in free}
    needs.update("extra:" + new[6:] if new.startswith("extra.") else new.partition("[")[0] for new in names.values())
    tokens = [(kind, value) for _, kind, value in environment.lex(text)]
    return "".join(
        names[value] if kind == "name" and value in names and not _is_attribute(tokens[:at]) else value
        for at, (kind, value) in enumerate(tokens)
    )


def _is_attribute(before: list[tuple[str, str]]) -> bool:
    last = next((token for token in reversed(before) if token[0] != "whitespace"), ("", ""))
    return last in {("operator", "."), ("operator", "|")}


def classes_of(messages: list[dict[str, Any]]) -> list[str]:
    """Return the classes that a prompt lists in brackets or as either … or; [] where it lists none."""
    found: list[list[str]] = []
    for part in (part for turn in messages for part in turn["contents"] if part["type"] == "text"):
        found += [[one.strip().strip("'\"") for one in inside.split(",")] for inside in _CLASSES.findall(part["value"])]
        found += [list(pair) for pair in _EITHER.findall(part["value"])]
    best = max(found, key=len, default=[])
    return best if len(best) > 1 and all(best) and len(set(best)) == len(best) else []
