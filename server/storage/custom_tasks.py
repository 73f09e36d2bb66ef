"""Figures of tasks that the board does not ship, by hash: kept with a submission's document, shown, never ranked.

What the board, its charts and the comparisons read has the figures of shipped tasks alone. A definition is not kept: it
is in the file, whose hash names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from codec_superb.applications.received import is_shipped
from codec_superb.applications.results import ApplicationAggregate, ProbeInfo
from codec_superb.applications.understanding.kinds import KINDS
from codec_superb.applications.understanding.measures.table import MEASURES
from codec_superb.pipeline.submission.schema import Submission
from codec_superb.record import Record
from codec_superb.web.site.custom import CustomTaskRow

FIELD = "custom_tasks"
"""Where they stand in the document."""


class CustomTask(Record):
    """One figure of one task on one dataset."""

    label: str
    unit: str
    higher_is_better: bool
    decimals: int
    task_sha256: str
    chat: str
    prompt_sha256: str
    version: str
    figure: ApplicationAggregate


def parts_of(submission: Submission, whole: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``datasets``, ``applications``, ``slices`` and custom tasks as a document keeps them.

    ``whole`` is the submission as JSON.
    """
    others = {
        (dataset.name, info.probe): info
        for dataset in submission.datasets
        for info in dataset.probes
        if not is_shipped(info)
    }
    parts: dict[str, Any] = {
        name: [entry for entry in whole["aggregates"][name] if (entry["dataset"], entry["probe"]) not in others]
        for name in ("applications", "slices")
        if name in whole["aggregates"]
    }
    parts["datasets"] = [
        {
            **dataset,
            "probes": [_bare(info) for info in dataset["probes"] if (dataset["name"], info["probe"]) not in others],
        }
        for dataset in whole["datasets"]
    ]
    found = list(_custom(submission, others))
    return parts | ({FIELD: [entry.model_dump(mode="json") for entry in found]} if found else {})


def custom_tasks(document: Mapping[str, Any]) -> list[CustomTaskRow]:
    """Read them back as rows of a page."""
    return [_row(CustomTask.model_validate(entry)) for entry in document.get(FIELD, ())]


def _bare(info: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the definition of a shipped task, which is the board's own."""
    return {name: value for name, value in info.items() if name != "definition"}


def _custom(submission: Submission, others: Mapping[tuple[str, str], ProbeInfo]) -> Iterator[CustomTask]:
    for entry in submission.aggregates.applications:
        info = others.get((entry.dataset, entry.probe))
        if info is None or info.definition is None:
            continue
        task = info.definition.task
        kind = KINDS[MEASURES[task.measure.name].kind]
        for figure in kind.metrics(entry.probe, task.title):
            if figure.key == entry.figure:
                yield CustomTask(
                    label=figure.label, unit=figure.unit, higher_is_better=figure.higher_is_better,
                    decimals=figure.decimals, task_sha256=info.definition.sha256, chat=info.backend,
                    prompt_sha256=str(info.settings.get("prompt_sha256", "")), version=info.version, figure=entry,
                )  # fmt: skip


def _row(found: CustomTask) -> CustomTaskRow:
    figure = found.figure
    return CustomTaskRow(
        key=figure.figure, label=found.label, unit=found.unit, higher_is_better=found.higher_is_better,
        decimals=found.decimals, dataset=figure.dataset, chat=found.chat, prompt=found.prompt_sha256,
        task=found.task_sha256, version=found.version, reference=figure.reference.value,
        resynthesis=figure.resynthesis.value, loss=figure.loss.value, n=figure.n, left_out=figure.left_out,
        failed=figure.failed,
    )  # fmt: skip
