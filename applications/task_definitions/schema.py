"""The JSON Schema of task files, as committed in ``docs/task.schema.json``: what a person may write."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from codec_superb.applications.task_definitions.definition import PromptDefinition, TaskFile, Use

_TEXTS = {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1}
_USE = {
    "anyOf": [
        {"type": "string"},
        {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
        {"type": "object", "additionalProperties": {"type": "object"}, "minProperties": 1, "maxProperties": 1},
    ]
}
"""``NAME``, ``{name: NAME, argument: value}`` or ``{NAME: {argument: value}}``."""


def json_schema() -> bytes:
    """Return the schema of one document of a task file: a task, or a prompt."""
    task, prompt = _of(TaskFile), _of(PromptDefinition)
    shared = {**task.pop("$defs", {}), **prompt.pop("$defs", {}), "Task": task, "Prompt": prompt}
    shared.pop(Use.__name__, None)
    fields = task["properties"]
    fields["prompt"] |= {"anyOf": [{"type": "string"}, _TEXTS]}
    for name in ("type", "additionalProperties"):
        fields["prompt"].pop(name, None)
    fields["after"]["items"] = _USE
    fields["measure"] = {"description": fields["measure"].get("description", Use.__doc__), **_USE}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Understanding task or prompt",
        "anyOf": [{"$ref": "#/$defs/Task"}, {"$ref": "#/$defs/Prompt"}],
        "$defs": shared,
    }
    return (json.dumps(schema, indent=2, ensure_ascii=False) + "\n").encode()


def _of(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema(mode="validation")


if __name__ == "__main__":
    import sys

    sys.stdout.buffer.write(json_schema())
