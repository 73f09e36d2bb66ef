"""Locales × recording conditions of one codec: a heat map of a figure, or of what the codec loses of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from codec_superb.metrics.results import Score
from codec_superb.web.applications import APPLICATION_METRICS
from codec_superb.web.figures.layout import Figure, base_layout, names_axis
from codec_superb.web.quantity import Quantity
from codec_superb.web.rows import ApplicationRow
from codec_superb.web.text import chart_text, count
from codec_superb.web.theme import LIGHT

Shown = Literal["value", "loss"]
POOLED = "all recordings"
_QUIET = "clean"
"""The condition that stands before the others."""
CELL, FRAME_HEIGHT = 34, 110
"""Pixels of a row, and of what stands around them."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """One figure of one codec by dataset and condition."""

    quantity: Quantity
    model: str
    datasets: tuple[str, ...]
    slices: tuple[str, ...]
    """'' for all recordings, which come first."""
    cells: tuple[tuple[ApplicationRow | None, ...], ...]
    """A row a dataset; None where nothing was measured."""


def heat_maps(rows: Iterable[ApplicationRow]) -> list[HeatMap]:
    """Return a map for each figure and model of one codec that has recording conditions, or several datasets.

    Rows over several datasets take no part.
    """
    groups: dict[tuple[str, object], list[ApplicationRow]] = {}
    for row in rows:
        if row.numbers.dataset and row.numbers.figure in APPLICATION_METRICS:
            groups.setdefault((row.numbers.figure, row.model), []).append(row)
    found = [_heat_map(members) for members in groups.values()]
    places = {key: place for place, key in enumerate(APPLICATION_METRICS)}
    shown = [one for one in found if len(one.datasets) * len(one.slices) > 1]
    return sorted(shown, key=lambda one: (places[one.quantity.key], one.model))


def heat_chart(heat: HeatMap, shown: Shown) -> Figure:
    """Draw it: rows are datasets, columns conditions, with the numbers written in; an empty cell was not measured."""
    columns = [chart_text(name.replace("_", " ") or POOLED, 24) for name in heat.slices]
    layout = {**base_layout(), "height": FRAME_HEIGHT + CELL * len(heat.datasets)}
    layout["xaxis"] = {**names_axis(columns), "side": "top"}
    # Plotly puts the first category at the bottom
    layout["yaxis"] = {**names_axis([chart_text(name, 26) for name in heat.datasets]), "autorange": "reversed"}
    layout["margin"] = {"l": 8, "r": 8, "t": 8, "b": 8, "pad": 0}
    values = [[None if row is None else _score(row, shown).value for row in line] for line in heat.cells]
    trace: dict[str, Any] = {
        "type": "heatmap",
        "z": values,
        "colorscale": _colours(heat.quantity, shown),
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        # half transparent, so that the numbers stand out from every cell on light paper and on dark
        "opacity": 0.55,
        "text": [["" if value is None else heat.quantity.write(value) for value in line] for line in values],
        "texttemplate": "%{text}",
        "textfont": {"size": 12, "color": LIGHT.ink},
        "hovertext": [[_hover_text(heat, row) for row in line] for line in heat.cells],
        "hoverinfo": "text",
    }
    if shown == "loss":
        largest = max((abs(value) for line in values for value in line if value is not None), default=1.0) or 1.0
        trace |= {"zmin": -largest, "zmax": largest}
    else:
        trace["zmin"] = 0.0
    return {"data": [trace], "layout": layout}


def _heat_map(rows: Sequence[ApplicationRow]) -> HeatMap:
    by_place = {(row.numbers.dataset, row.numbers.slice): row for row in rows}
    datasets = tuple(sorted({row.numbers.dataset for row in rows}))
    slices = tuple(sorted({row.numbers.slice for row in rows}, key=lambda part: (part != "", part != _QUIET, part)))
    cells = tuple(tuple(by_place.get((dataset, part)) for part in slices) for dataset in datasets)
    return HeatMap(APPLICATION_METRICS[rows[0].numbers.figure].quantity, rows[0].model.backend, datasets, slices, cells)


def _score(row: ApplicationRow, shown: Shown) -> Score:
    return row.numbers.resynthesis if shown == "value" else row.numbers.loss


def _colours(quantity: Quantity, shown: Shown) -> list[list[object]]:
    """Blue is good, orange is bad: a loss is bad, and less than none is good. No colour of a value is the paper's."""
    good, bad = LIGHT.families[0], LIGHT.families[1]
    if shown == "loss":
        return [[0, good], [0.5, LIGHT.paper], [1, bad]]
    return [[0, LIGHT.soft], [1, good if quantity.higher_is_better else bad]]


def _hover_text(heat: HeatMap, row: ApplicationRow | None) -> str:
    if row is None:
        return "not measured"
    numbers, write = row.numbers, heat.quantity.write
    where = f"{chart_text(numbers.dataset)}, {chart_text(numbers.slice.replace('_', ' ') or POOLED)}"
    sides = f"original {write(numbers.reference.value)}, loss {write(numbers.loss.value)}"
    return f"{where}<br><b>{write(numbers.resynthesis.value)}</b><br>{sides}<br>{count(numbers.n, 'clip')}"
