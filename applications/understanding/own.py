"""The tasks that the program ships, as rows of the table of probes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from codec_superb.applications.probe import Probe
from codec_superb.applications.understanding.probes import NAME, probe_of
from codec_superb.applications.understanding.registry import own_registry

XARES = "xares"
"""Group of the tasks of XARES-LLM."""


def own_probes() -> tuple[Probe, ...]:
    """Return them by group and name."""
    found = [probe_of(definition) for definition in own_registry().definitions().values()]
    return tuple(sorted(found, key=lambda row: (row.group, row.key)))


def grouped(rows: Iterable[Probe]) -> Mapping[str, tuple[str, ...]]:
    """Return the names that ``--application`` takes: all tasks, and those of each group; ``xares`` by itself.

    Tasks of XARES-LLM are answered by decoders that are trained for them, and by no chat of the other tasks.
    """
    groups: dict[str, list[str]] = {NAME: []}
    for row in rows:
        if row.group == XARES:
            groups.setdefault(XARES, []).append(row.key)
            continue
        groups[NAME].append(row.key)
        groups.setdefault(f"{NAME}.{row.group}", []).append(row.key)
    return {name: tuple(keys) for name, keys in groups.items()}
