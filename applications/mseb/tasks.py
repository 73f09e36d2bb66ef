"""Reads the table of tasks and makes rows of the table of probes of it, and the averages over locales.

A task of an existing kind is an entry of ``tasks.yaml`` and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from typing import NamedTuple

import yaml
from pydantic import Field

from codec_superb.applications.averages.composite import Composite, mean_of
from codec_superb.applications.mseb.kinds import KINDS
from codec_superb.applications.probe import Probe
from codec_superb.metrics.table import Category
from codec_superb.record import Record

NAME = "mseb"
PAPER = 'Heigold et al., "Massive Sound Embedding Benchmark", NeurIPS 2025 datasets track'


class Task(Record):
    """One entry of the table."""

    kind: str
    """Name of its kind."""
    task: str
    """MSEB's own name of the variant."""
    label: str
    """Name for people."""
    needs: tuple[str, ...]
    """Labels and collections, as :class:`~codec_superb.applications.probe.Probe` has them."""
    options: dict[str, str] = Field(default_factory=dict)
    """Parameters of the scorer."""
    backend: str
    """The usual model."""
    categories: tuple[Category, ...] = ()
    """Categories of clips, where they are others than the kind's."""
    takes: tuple[str, ...] = ()
    """Roles of backends, where they are others than the kind's."""
    locales: tuple[str, ...] = ()
    """Lists of datasets that its primary metric is averaged over."""
    by_name: bool = False
    """Whether it runs only where it is asked for by its key, because the user must name a model."""
    paper: str = PAPER
    """Source of the definition."""


class Mean(Record):
    """The mean of the primary metrics of several tasks on one dataset."""

    label: str
    """Name for people."""
    tasks: tuple[str, ...]
    """Keys, all of one super task."""


class TaskTable(Record):
    """The whole file."""

    locales: dict[str, tuple[str, ...]]
    """Names of datasets, by the name of the list."""
    tasks: dict[str, Task]
    """By key of the probe."""
    means: dict[str, Mean] = Field(default_factory=dict)
    """By the end of their keys."""


class Tasks(NamedTuple):
    """What the table of probes takes over."""

    probes: tuple[Probe, ...]
    composites: tuple[Composite, ...]
    by_name: frozenset[str]
    """Keys of the tasks that are no part of the benchmark's names."""

    @property
    def applications(self) -> Mapping[str, tuple[str, ...]]:
        """Names that ``--application`` takes: all tasks, and those of each super task."""
        groups: dict[str, list[str]] = {NAME: []}
        for row in self.probes:
            if row.key in self.by_name:
                continue
            groups[NAME].append(row.key)
            groups.setdefault(f"{NAME}.{row.group}", []).append(row.key)
        return {name: tuple(keys) for name, keys in groups.items()}


def read_tasks(text: str) -> Tasks:
    """Return the probes and averages of a table in YAML. Raises ValueError for a kind or list that does not exist."""
    table = TaskTable.model_validate(yaml.safe_load(text))
    probes = tuple(_probe(key, task) for key, task in table.tasks.items())
    composites = [
        _mean(row, name, table.locales)
        for row, task in zip(probes, table.tasks.values(), strict=True)
        for name in task.locales
    ]
    by_key = {row.key: row for row in probes}
    composites += [_mean_of_tasks(key, row, by_key) for key, row in table.means.items()]
    alone = frozenset(key for key, task in table.tasks.items() if task.by_name)
    return Tasks(probes, tuple(composites), alone)


def own_tasks() -> Tasks:
    """Return those of the program's own table."""
    return read_tasks((resources.files(__package__) / "tasks.yaml").read_text(encoding="utf-8"))


def _probe(key: str, task: Task) -> Probe:
    kind = KINDS.get(task.kind)
    if kind is None:
        raise ValueError(f"{key}: expected a kind of {', '.join(sorted(KINDS))}, got {task.kind!r}")
    return Probe(
        key=key,
        label=task.label,
        needs=task.needs,
        categories=task.categories or kind.categories,
        shared=kind.shared,
        sided=kind.sided,
        pairs=kind.pairs,
        metrics=kind.metrics(key, task.label),
        version=kind.version,
        paper=task.paper,
        backend=task.backend,
        scorer=kind.scorer,
        limits=kind.limits and f"{__package__}.limits:{kind.limits}",
        takes=task.takes or kind.takes,
        options=tuple(sorted(task.options.items())),
        group=kind.group,
        task=task.task,
        primary=f"{key}_{kind.primary}",
        joint=kind.joint,
        of_all=kind.of_all,
    )


def _mean(row: Probe, name: str, locales: Mapping[str, tuple[str, ...]]) -> Composite:
    if name not in locales:
        raise ValueError(f"{row.key}: expected a list of locales of {', '.join(sorted(locales))}, got {name!r}")
    primary = next(metric for metric in row.metrics if metric.key == row.primary)
    places = [(dataset, primary.key) for dataset in locales[name]]
    label = f"{primary.label}, mean of {len(places)} locales"
    return mean_of(name, label, primary, f"{NAME}.{row.group}", places)


def _mean_of_tasks(key: str, row: Mean, probes: Mapping[str, Probe]) -> Composite:
    unknown = [name for name in row.tasks if name not in probes]
    if unknown or len({probes[name].group for name in row.tasks}) != 1:
        raise ValueError(f"{key}: expected tasks of one super task, got {', '.join(unknown or row.tasks)}")
    first = probes[row.tasks[0]]
    primary = next(metric for metric in first.metrics if metric.key == first.primary)
    places = [("", probes[name].primary) for name in row.tasks]
    like = replace(primary, key=f"{NAME}_{first.group}_{primary.key.removeprefix(first.key + '_')}")
    return mean_of(key, row.label, like, f"{NAME}.{first.group}", places)
