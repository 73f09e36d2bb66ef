"""Tasks as a heat map: a row an encoder, a codec as encoder, or resynthesised sound; a column a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codec_superb.applications.xares.result import REFERENCES
from codec_superb.web.applications import application_of
from codec_superb.web.figures.layout import Figure, base_layout, names_axis
from codec_superb.web.mseb.heat import CELL, FRAME_HEIGHT
from codec_superb.web.text import chart_text
from codec_superb.web.theme import LIGHT
from codec_superb.web.xares.rate import hover_text
from codec_superb.web.xares.rows import KINDS, XaresRow

_LETTERS = 34
"""Of a name beside a row."""
Task = tuple[str, str]
"""Figure and dataset."""


@dataclass(frozen=True, slots=True)
class HeatLine:
    """One row; a heading has no cells."""

    title: str
    cells: tuple[tuple[float, str, str] | None, ...] = ()
    """Percent of the best possible, the number as written, and the text of a pointer; None: not measured."""


def tasks_of(rows: Sequence[XaresRow]) -> list[Task]:
    """List the tasks that any row has, in the order of figures and datasets."""
    return sorted({(row.figure, row.dataset) for row in rows})


def task_title(task: Task, tasks: Sequence[Task]) -> str:
    """Name a task in few words, with the dataset where several have it."""
    figure, dataset = task
    probe = application_of(figure).probe
    name = (probe.task if probe else figure).removeprefix("xares_").replace("_", " ")
    return f"{name}, {dataset}" if sum(other == figure for other, _ in tasks) > 1 else name


def lines_of(rows: Sequence[XaresRow]) -> list[list[XaresRow]]:
    """Group rows by subject: encoders, codecs as encoders and resynthesised sound, each by bitrate."""
    subjects: dict[tuple[str, ...], list[XaresRow]] = {}
    kinds = list(KINDS)
    for row in sorted(rows, key=lambda row: (kinds.index(row.kind), row.heard_by, row.bits_per_s or 0.0, row.subject)):
        subjects.setdefault(row.subject, []).append(row)
    return list(subjects.values())


def xares_heat_chart(rows: Sequence[XaresRow]) -> Figure:
    """Draw what one reader reads: headings between the three kinds of rows."""
    tasks = tasks_of(rows)
    lines: list[HeatLine] = []
    heading = ""
    for members in lines_of(rows):
        first = members[0]
        heard = f", heard by\n{first.encoder}" + (f"\nown, {first.own}" if first.own else "")
        own = KINDS[first.kind] + (heard if first.kind == "resynthesis" else "")
        if own != heading:
            heading = own
            lines.append(HeatLine(heading))
        by_task = {(row.figure, row.dataset): row for row in members}
        name = first.label if first.mode == REFERENCES else f"{first.mode}: {first.label}"
        lines.append(HeatLine(name, tuple(_cell(by_task.get(task)) for task in tasks)))
    return heat_chart(lines, [task_title(task, tasks) for task in tasks])


def published_heat_chart(teams: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw published figures in percent, by encoder and task; a task that one lacks stays empty."""
    tasks = list(dict.fromkeys(task for figures in teams.values() for task in figures))
    lines = [
        HeatLine(
            name,
            tuple(
                None
                if task not in own
                else (own[task], f"{own[task]:.1f}", f"{chart_text(name)}<br>{chart_text(task)}")
                for task in tasks
            ),
        )
        for name, own in teams.items()
    ]
    return heat_chart(lines, tasks)


def heat_chart(lines: Sequence[HeatLine], tasks: Sequence[str]) -> Figure:
    """Draw lines by tasks with the numbers written in; an empty cell was not measured."""
    columns = [chart_text(name, 24) for name in tasks]
    layout = {**base_layout(), "height": FRAME_HEIGHT + CELL * len(lines)}
    layout["xaxis"] = {**names_axis(columns), "side": "top"}
    names = [chart_text(line.title, _LETTERS) if line.cells else _heading(line.title) for line in lines]
    layout["yaxis"] = {**names_axis(names), "autorange": "reversed"}
    layout["margin"] = {"l": 8, "r": 8, "t": 8, "b": 8, "pad": 0}
    cells = [line.cells or (None,) * len(tasks) for line in lines]
    trace: dict[str, Any] = {
        "type": "heatmap",
        "z": [[None if cell is None else cell[0] for cell in line] for line in cells],
        "zmin": 0.0,
        "zmax": 100.0,
        "colorscale": [[0, LIGHT.soft], [1, LIGHT.families[0]]],
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        # half transparent, so that the numbers stand out from every cell on light paper and on dark
        "opacity": 0.55,
        "text": [["" if cell is None else cell[1] for cell in line] for line in cells],
        "texttemplate": "%{text}",
        "textfont": {"size": 12, "color": LIGHT.ink},
        "hovertext": [["not measured" if cell is None else cell[2] for cell in line] for line in cells],
        "hoverinfo": "text",
    }
    return {"data": [trace], "layout": layout}


def _heading(title: str) -> str:
    return "<b>" + "<br>".join(chart_text(part, _LETTERS) for part in title.split("\n")) + "</b>"


def _cell(row: XaresRow | None) -> tuple[float, str, str] | None:
    if row is None:
        return None
    figure = application_of(row.figure).figure
    return 100 * row.value / figure.maximum, row.quantity.write(row.value), hover_text(row, row.quantity)
