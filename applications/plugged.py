"""Probes of plug-ins: of installed distributions, or ``path/to/file.py:NAME``; they join the table of this process.

Runs keep their results; submissions leave them out, because receivers cannot recompute them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from codec_superb.applications.errors import UnknownApplication
from codec_superb.applications.probe import Probe
from codec_superb.applications.results import ProbeInfo
from codec_superb.applications.table import APPLICATIONS, PROBE_METRICS, PROBES, put
from codec_superb.applications.task_definitions.definition import TaskDefinition
from codec_superb.applications.understanding.probes import PREFIX, key_of, probe_of
from codec_superb.applications.understanding.registry import Registry, announced_tasks, check_definition, read_folder
from codec_superb.plugins import by_name, is_file_name, row_from_file, row_of, rows_of, taken

GROUP = "codec_superb.applications"


def adopt(names: Sequence[str], tasks: Sequence[Path] = ()) -> tuple[str, ...]:
    """Return the names of applications and probes that stand for ``names``, after plug-ins among them joined the table.

    ``tasks`` are files or folders of tasks of one's own, each known by its name or as ``und_NAME``, as those of
    installed distributions are; without ``names`` all of ``tasks`` are meant. Raises UnknownApplication with near
    matches, TaskError for a wrong task file, PluginError for a plug-in that cannot be loaded or whose key is taken.
    """
    own = _join_tasks(read_folder(*tasks)) if tasks else {}
    if tasks and not names:
        return tuple(own.values())
    own = {**_join_tasks(announced_tasks()), **own} if names else own
    names = [name if name in APPLICATIONS else own.get(name.removeprefix(PREFIX), name) for name in names]
    others = by_name(GROUP, _own()) if names else {}
    found = []
    for name in names:
        if is_file_name(name):
            found.append(_join(row_from_file(name, Probe)))
        elif name in others:
            found.append(_join(row_of(others[name], Probe)))
        elif name in APPLICATIONS or name in PROBES:
            found.append(name)
        else:
            raise UnknownApplication(name, {*APPLICATIONS, *PROBES, *others, *own})
    return tuple(found)


def _join_tasks(registry: Registry) -> dict[str, str]:
    """Let tasks join the table, and return their keys by name."""
    return {
        name: join_definition(definition, registry.origin(name)) for name, definition in registry.definitions().items()
    }


def join_definition(definition: TaskDefinition, origin: str) -> str:
    """Let a task join the table unless it is one that is shipped, and return the key of its probe."""
    shipped = PROBES.get(key_of(definition, own=True))
    if shipped is not None and shipped.definition == definition:
        return shipped.key
    row = probe_of(definition, origin)
    return row.key if row.key in PROBES else _join(row)


def join_stored(infos: Iterable[ProbeInfo]) -> None:
    """Let the tasks of stored results join the table, so that their numbers can be read. Raises TaskError."""
    for info in infos:
        if info.definition is not None and info.probe not in PROBES:
            check_definition(info.definition, info.probe)
            join_definition(info.definition, "a stored result")


def adopt_announced() -> None:
    """Let the probes and tasks of all installed distributions join; one that cannot be loaded is reported once."""
    _join_tasks(announced_tasks())
    for row in rows_of(GROUP, Probe, _own()).values():
        _join(row)


def _join(row: Probe) -> str:
    old = PROBES.get(row.key)
    if row.key in APPLICATIONS or (old and old.origin != row.origin):
        raise taken(row.key, old.scorer if old else "an application", row.scorer)
    for metric in row.metrics:
        other = next((p for p in PROBES.values() if p.key != row.key and metric in p.metrics), None)
        if other or (metric.key in PROBE_METRICS and not old):
            raise taken(metric.key, PROBE_METRICS[metric.key].target, metric.target)
    put(row)
    return row.key


def _own() -> dict[str, str]:
    return {**dict.fromkeys(APPLICATIONS, "an application"), **{k: r.scorer for k, r in PROBES.items() if not r.origin}}
