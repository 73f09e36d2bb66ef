"""Choose the rows of tasks of understanding, and find what stands beside a task's main figure."""

from __future__ import annotations

from collections.abc import Iterable

from codec_superb.applications.probe import Probe
from codec_superb.web.applications import APPLICATION_METRICS, application_of
from codec_superb.web.rows import ApplicationRow

AGREEMENT, UNREAD, ABOVE_CHANCE = "agreement_pct", "unparsed_pct", "above_chance_pct"
"""Ends of the keys of figures that stand beside a main one."""


def task_of(row: ApplicationRow) -> Probe | None:
    """Return the probe of a row of a shipped task of understanding; None for any other row."""
    found = APPLICATION_METRICS.get(row.numbers.figure)
    return found.probe if found and found.probe and found.probe.definition else None


def is_understanding(row: ApplicationRow) -> bool:
    """Whether a row is of a task of understanding, shipped or custom; of a custom one where this process knows it."""
    probe = application_of(row.numbers.figure).probe
    return probe is not None and probe.definition is not None


def main_rows(rows: Iterable[ApplicationRow]) -> list[ApplicationRow]:
    """Return the rows with a value of the figures that stand for their tasks, pooled, in the order of the table."""
    places = {key: place for place, key in enumerate(APPLICATION_METRICS)}
    found = [
        row
        for row in rows
        if (task := task_of(row)) is not None
        and task.primary == row.numbers.figure
        and row.numbers.resynthesis.value is not None
        and not row.numbers.slice
    ]
    return sorted(found, key=lambda row: (places[row.numbers.figure], row.codec))


def beside(row: ApplicationRow, rows: Iterable[ApplicationRow], end: str) -> ApplicationRow | None:
    """Return another figure of the same task, clips and chat, by the end of its key; None where there is none."""
    wanted = (row.codec, row.numbers.dataset, row.numbers.slice, row.model, f"{row.numbers.probe}_{end}")
    return next((of for of in rows if (of.codec, of.numbers.dataset, of.numbers.slice, of.model,
                                       of.numbers.figure) == wanted), None)  # fmt: skip


def chance_of(row: ApplicationRow, rows: Iterable[ApplicationRow]) -> float | None:
    """Return what guessing gives, in percent, from accuracy a and accuracy above chance x: (a − x) / (1 − x).

    None for a task without options, and where all answers are right on both sides.
    """
    above = beside(row, rows, ABOVE_CHANCE)
    if above is None:
        return None
    sides = [
        (row.numbers.reference, above.numbers.reference),
        (row.numbers.resynthesis, above.numbers.resynthesis),
    ]
    for accuracy, over in sides:
        if accuracy.value is not None and over.value is not None and over.value < _ALL:
            return 100.0 * (accuracy.value - over.value) / (100.0 - over.value)
    return None


_ALL = 99.999
"""Percent above chance; nearer to 100 the quotient has no digits left."""
