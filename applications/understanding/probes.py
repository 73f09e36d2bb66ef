"""Tasks as rows of the table of probes."""

from __future__ import annotations

from codec_superb.applications.probe import Probe
from codec_superb.applications.task_definitions.definition import TaskDefinition
from codec_superb.applications.understanding.kinds import KINDS
from codec_superb.applications.understanding.measures.table import MEASURES

NAME = "understanding"
ROLE = "chat"
"""What a backend of the catalogue answers for to be taken by tasks."""
PREFIX = "und_"
OWN_DIGITS = 8
"""Hexadecimal digits of the hash in the key of a task that is not shipped: another definition is another probe."""


def probe_of(definition: TaskDefinition, origin: str = "") -> Probe:
    """Return the probe of a task; ``origin`` is where one that is not shipped comes from, '' for the program's own."""
    task = definition.task
    row = MEASURES[task.measure.name]
    key = key_of(definition, own=not origin)
    metrics = KINDS[row.kind].metrics(key, task.title)
    return Probe(
        key=key,
        label=task.title,
        needs=tuple(dict.fromkeys((task.label, *task.needs))),
        categories=task.categories,
        shared=KINDS[row.kind].shared,
        sided=KINDS[row.kind].sided,
        pairs=KINDS[row.kind].pairs,
        metrics=metrics,
        version=f"{task.version}+{definition.sha256[:OWN_DIGITS]}+{row.version}",
        paper=task.source,
        backend=task.backend,
        scorer="codec_superb.applications.understanding.scoring:score",
        takes=(ROLE,),
        group=task.group,
        task=task.task,
        primary=metrics[0].key,
        limits=KINDS[row.kind].limits,
        joint=row.joint or row.of_corpus,
        of_all=row.of_corpus,
        datasets=task.datasets,
        definition=definition,
        origin=origin,
    )


def key_of(definition: TaskDefinition, *, own: bool) -> str:
    """Return the key of a task's probe: ``und_NAME``, with digits of its hash where it is not shipped."""
    return f"{PREFIX}{definition.task.task}" + ("" if own else f"_{definition.sha256[:OWN_DIGITS]}")
