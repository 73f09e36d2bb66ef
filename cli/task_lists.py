"""Understanding tasks as tables and as data, for ``applications --tasks`` and ``check-task``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from codec_superb.cli.console import print_table

if TYPE_CHECKING:
    from codec_superb.applications.probe import Probe

_HEAD = ("task", "title", "group", "label", "classes", "measure", "prompts", "default chat", "from")
_SHOWN = 5
"""Classes that are named in a table."""


def tasks_as_data(rows: Iterable[Probe]) -> list[dict[str, Any]]:
    """Return the tasks among probes."""
    found = []
    for row in rows:
        if row.definition is None:
            continue
        task = row.definition.task
        found.append({
            "key": row.key, "task": task.task, "title": task.title, "group": task.group, "label": task.label,
            "needs": list(task.needs), "classes": list(task.classes), "measure": task.measure.name,
            "prompts": {family: prompt.name for family, prompt in row.definition.prompts.items()},
            "default_chat": task.backend, "datasets": list(task.datasets), "version": task.version,
            "sha256": row.definition.sha256, "custom": bool(row.origin), "origin": row.origin,
        })  # fmt: skip
    return found


def print_tasks(tasks: Iterable[dict[str, Any]]) -> None:
    """Print a table of what :func:`tasks_as_data` returns."""
    print_table("Understanding tasks", _HEAD, map(_cells, tasks), numbers_from=len(_HEAD), folds=True)


def _cells(task: dict[str, Any]) -> tuple[str, ...]:
    classes = task["classes"]
    more = f" and {len(classes) - _SHOWN} more" if len(classes) > _SHOWN else ""
    return (
        task["task"], task["title"], task["group"], task["label"], ", ".join(classes[:_SHOWN]) + more,
        task["measure"], ", ".join(task["prompts"]), task["default_chat"],
        f"custom: {task['origin']}" if task["custom"] else "shipped",
    )  # fmt: skip
