"""Post-processors that cut and unpack texts."""

from __future__ import annotations

from collections.abc import Mapping

from codec_superb.applications.task_definitions.definition import Argument


def first_line(answer: str, _: Mapping[str, Argument]) -> str:
    """Return the first line that is not empty, stripped."""
    return next((line.strip() for line in answer.splitlines() if line.strip()), "")
