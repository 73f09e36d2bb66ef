"""Post-processors that unpack answers in JSON."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping

from codec_superb.applications.task_definitions.definition import Argument

_FENCE = re.compile(r"^\s*```[\w-]*\s*\n?(.*?)\n?\s*```\s*$", re.DOTALL)
_LONGEST = 65_536
"""Characters that are read as JSON or as a literal."""


def json_content(answer: str, _: Mapping[str, Argument]) -> str:
    """Return ``content`` of a JSON object or Python literal, fenced or not; other answers pass unchanged."""
    return _value(answer, "content", answer)


def field(answer: str, arguments: Mapping[str, Argument]) -> str:
    """Return the field ``key`` of a JSON object; ``default`` where it has none; other answers pass unchanged."""
    missing = arguments.get("default")
    return _value(answer, str(arguments["key"]), answer if missing is None else str(missing))


def extract_text(answer: str, _: Mapping[str, Argument]) -> str:
    """Return the text of an answer ``{"audio": path, "text": …}``; other answers pass unchanged."""
    return _value(answer, "text", answer)


def extract_audio(answer: str, _: Mapping[str, Argument]) -> str:
    """Return the path of an answer ``{"audio": path, "text": …}``; other answers pass unchanged."""
    return _value(answer, "audio", answer)


def _value(answer: str, key: str, missing: str) -> str:
    read = _object(answer)
    if read is None:
        return answer
    value = read.get(key)
    if value is None:
        return missing
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _object(answer: str) -> Mapping[str, object] | None:
    fenced = _FENCE.match(answer)
    text = (fenced.group(1) if fenced else answer).strip()
    if not text.startswith("{") or len(text) > _LONGEST:
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
        return found if isinstance(found, dict) else None
    return None
