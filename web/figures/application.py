"""Draws an application metric against bitrate, with its value on the original sound as a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from codec_superb.web.application_rows import at_rates_of
from codec_superb.web.figures.board import board_chart
from codec_superb.web.figures.layout import Figure
from codec_superb.web.quantity import Quantity
from codec_superb.web.rows import ApplicationRow, BoardRow, CodecResult, figure_label
from codec_superb.web.text import chart_text
from codec_superb.web.theme import LIGHT

_NAMES_AT = ((0.01, "left"), (0.99, "right"), (0.5, "center"))


@dataclass(frozen=True, slots=True)
class Ceiling:
    """An application metric's value on the original sound."""

    label: str
    """Model that answered."""
    value: float
    name: str = "original"
    """Of the line; the true transcripts are another one."""


def application_chart(
    rows: Sequence[BoardRow], quantity: Quantity, ceilings: Sequence[Ceiling], across: str = ""
) -> Figure:
    """Draw the application's metric of all rows that have it and a bitrate, and a line for each ceiling.

    Up is better. ``quantity`` is one of :data:`codec_superb.web.applications.APPLICATIONS`.
    """
    figure = board_chart(rows, quantity, across)
    if figure["data"] and not across:
        figure["layout"]["xaxis"]["title"]["text"] = "Bitrate (kbps, logarithmic)"
    return with_ceilings(figure, quantity, ceilings)


def drawn_result(row: ApplicationRow, result: CodecResult) -> CodecResult:
    """Return a codec's result with the figure of ``row`` among its metrics, over the clips and at the bitrate of it."""
    numbers = row.numbers
    result = at_rates_of(row, result)
    summary = result.summary.model_copy(
        update={
            "metrics": {numbers.figure: row.value},
            "datasets": (numbers.dataset,),
            "clips": numbers.n + numbers.failed,
            "ok": numbers.n,
            "failed": numbers.failed,
        }
    )
    return replace(result, summary=summary, source=figure_label(result.source, row))


def with_ceilings(figure: Figure, quantity: Quantity, ceilings: Sequence[Ceiling]) -> Figure:
    """Draw a dashed line at each ceiling into a chart whose upright axis shows ``quantity``."""
    layout = figure["layout"]
    if not figure["data"]:
        return figure
    layout["yaxis"]["range"] = _with_room(layout["yaxis"]["range"], [ceiling.value for ceiling in ceilings])
    layout["shapes"] = [_line(ceiling.value) for ceiling in ceilings]
    names = [_name(ceiling, quantity, place) for place, ceiling in enumerate(ceilings)]
    layout["annotations"] = [*layout.get("annotations", ()), *names]
    return figure


def _with_room(limits: Sequence[float], values: Sequence[float]) -> list[float]:
    """Widen a range, which may run downwards, so that the lines are well inside."""
    low, high = min(limits), max(limits)
    room = 0.06 * (high - low)
    low, high = min([low, *(value - room for value in values)]), max([high, *(value + room for value in values)])
    return [low, high] if limits[0] < limits[-1] else [high, low]


def _line(value: float) -> dict[str, Any]:
    line = {"color": LIGHT.ink, "width": 1.5, "dash": "dash"}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": "y", "y0": value, "y1": value, "line": line}


def _name(ceiling: Ceiling, quantity: Quantity, place: int) -> dict[str, Any]:
    """Write the name over the line; names of neighbouring lines stand left, right and in the middle by turns."""
    x, anchor = _NAMES_AT[place % len(_NAMES_AT)]
    position = {"xref": "paper", "x": x, "xanchor": anchor, "yref": "y", "y": ceiling.value, "yanchor": "bottom"}
    text = f"{ceiling.name}: {quantity.write(ceiling.value)} ({chart_text(ceiling.label, 40)})"
    return {**position, "text": text, "showarrow": False, "font": {"size": 12, "color": LIGHT.ink}}
