"""The section on understanding of the report: charts against bitrate with ceiling and chance, and a table a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codec_superb.web.applications import application_of
from codec_superb.web.figures.across import axes_with, figure_key, has_tokens
from codec_superb.web.figures.layout import Figure
from codec_superb.web.report.applications import DatasetPart, applications_panel
from codec_superb.web.rows import ApplicationRow, CodecResult, ProbeModel
from codec_superb.web.theme import Style
from codec_superb.web.understanding.choose import chance_of, is_understanding
from codec_superb.web.understanding.rate import understanding_rate_chart


@dataclass(frozen=True, slots=True)
class TaskPart:
    """One task on one dataset."""

    title: str
    """Task, dataset, and what guessing gives where there are options."""
    part: DatasetPart


@dataclass(frozen=True, slots=True)
class UnderstandingPanel:
    """The whole section."""

    tasks: tuple[TaskPart, ...]
    rates: tuple[tuple[str, str], ...]
    """Key and title of each chart."""
    figures: dict[str, Figure]
    """By key, as the page's script draws them."""


def understanding_panel(
    rows: Sequence[ApplicationRow], results: Sequence[CodecResult], styles: Mapping[str, Style]
) -> UnderstandingPanel | None:
    """Put the section together of the rows of tasks of understanding; None where there are none."""
    rows = [row for row in rows if is_understanding(row)]
    if not rows:
        return None
    by_task: dict[tuple[str, str], list[ApplicationRow]] = {}
    for row in rows:
        by_task.setdefault((row.numbers.probe, row.numbers.dataset), []).append(row)
    figures, rates = _rates(rows, results)
    tasks = tuple(_task(of, results, styles) for of in by_task.values())
    return UnderstandingPanel(tasks, tuple(rates), figures)


def _task(rows: Sequence[ApplicationRow], results: Sequence[CodecResult], styles: Mapping[str, Style]) -> TaskPart:
    (part,) = applications_panel(rows, results, styles).parts
    probe = application_of(rows[0].numbers.figure).probe
    assert probe is not None
    main = next((row for row in rows if row.numbers.figure == probe.primary), rows[0])
    chance = chance_of(main, rows)
    floor = "" if chance is None else f"; chance {application_of(main.numbers.figure).quantity.write(chance)} %"
    return TaskPart(f"{probe.label} – {part.dataset}{floor}", part)


def _rates(
    rows: Sequence[ApplicationRow], results: Sequence[CodecResult]
) -> tuple[dict[str, Figure], list[tuple[str, str]]]:
    """Draw the main figure of each task against each axis, a chart for each chat and dataset."""
    codecs: dict[str, CodecResult] = {}
    for result in results:
        codecs.setdefault(result.codec, result)
    groups: dict[tuple[str, str, ProbeModel], list[ApplicationRow]] = {}
    for row in rows:
        probe = application_of(row.numbers.figure).probe
        if probe is not None and probe.primary == row.numbers.figure and row.numbers.resynthesis.value is not None:
            groups.setdefault((row.numbers.figure, row.numbers.dataset, row.model), []).append(row)
    figures: dict[str, Figure] = {}
    titles: list[tuple[str, str]] = []
    axes = axes_with(tokens=any(has_tokens(codecs[row.codec]) for row in rows))
    for (figure, dataset, model), members in groups.items():
        key = f"understanding-rate-{len(titles)}"
        drawn = [(codecs[row.codec], row) for row in members]
        for across, _ in axes:
            figures[figure_key(key, across)] = understanding_rate_chart(figure, drawn, rows, across)
        titles.append((key, f"{application_of(figure).quantity.title} – {dataset}, {model.backend}"))
    return figures, titles
