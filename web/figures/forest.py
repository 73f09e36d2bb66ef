"""Forest plot: differences to a baseline with their intervals, a row each, and the line of no difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from codec_superb.web.figures.layout import Figure, base_axis, base_layout
from codec_superb.web.quantity import Quantity
from codec_superb.web.rows import Gap
from codec_superb.web.text import chart_text, count, interval, shortened
from codec_superb.web.theme import LIGHT, Style, family_styles

ROW_HEIGHT = 24
"""Pixels for one difference or heading."""
_FRAME_HEIGHT = 110
_LABEL = 24


@dataclass(frozen=True, slots=True)
class ForestRow:
    """One codec on one group of clips."""

    group: str
    """Heading that rows of the same clips share; they must stand together."""
    codec: str
    """Name for people."""
    family: str
    n: int
    """Clips."""
    gap: Gap | None
    """None keeps the row empty: nothing could be compared."""
    sources: tuple[str, ...] = ()
    """On whose word it stands, and on whose the baseline, a line each."""


@dataclass(frozen=True, slots=True)
class _Placed:
    row: ForestRow
    height: int
    index: int
    """Number of the codec, which decides the order of the traces."""
    style: Style


def forest_chart(rows: Sequence[ForestRow], quantity: Quantity, baseline: str) -> Figure:
    """Draw the rows from top to bottom in their order; further right the codec is better than ``baseline``.

    A filled mark has an interval on one side of zero, an open one has not. Colour and shape are those of the family.
    """
    placed, headings = _place(rows)
    height = len(rows) + len(headings)
    layout = {**base_layout(), "height": _FRAME_HEIGHT + ROW_HEIGHT * max(height, 1)}
    layout["xaxis"] = _difference_axis(placed, quantity, baseline)
    layout["yaxis"] = _row_axis(placed, height)
    layout["annotations"] = [_heading(place, group) for place, group in headings.items()]
    layout["shapes"] = [_no_difference()]
    layout["margin"] = {**layout["margin"], "l": 8}
    drawn = [entry for entry in placed if entry.row.gap is not None]
    order = sorted(drawn, key=_codec)
    traces = [_trace(list(members), quantity, baseline) for _, members in groupby(order, key=_codec)]
    return {"data": traces, "layout": layout}


def _codec(placed: _Placed) -> int:
    return placed.index


def _place(rows: Sequence[ForestRow]) -> tuple[list[_Placed], dict[int, str]]:
    """Give each row and heading its whole-numbered height, the first at the top."""
    codecs = list(dict.fromkeys(row.codec for row in rows))
    groups = [(group, list(members)) for group, members in groupby(rows, key=lambda row: row.group)]
    height = len(rows) + len(groups) - 1
    styles = family_styles(row.family for row in rows)
    placed, headings = [], {}
    for group, members in groups:
        headings[height] = group
        height -= 1
        for row in members:
            placed.append(_Placed(row, height, codecs.index(row.codec), styles[row.family]))
            height -= 1
    return placed, headings


def _trace(members: Sequence[_Placed], quantity: Quantity, baseline: str) -> dict[str, Any]:
    colour, symbol = members[0].style.colour, members[0].style.symbol
    gaps = [entry.row.gap for entry in members if entry.row.gap is not None]
    up = [0.0 if gap.high is None else max(0.0, gap.high - gap.difference) for gap in gaps]
    down = [0.0 if gap.low is None else max(0.0, gap.difference - gap.low) for gap in gaps]
    error = {"type": "data", "symmetric": False, "array": up, "arrayminus": down}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": chart_text(members[0].row.codec),
        "meta": {"role": "codec"},
        "x": [gap.difference for gap in gaps],
        "y": [entry.height for entry in members],
        "error_x": {**error, "color": colour, "thickness": 1.5, "width": 4},
        "marker": {
            "symbol": [f"{symbol}-open" if gap.verdict == "unclear" else symbol for gap in gaps],
            "size": 9,
            "color": colour,
            "line": {"width": 1.5, "color": colour},
        },
        "hovertext": [
            _hover_text(entry.row, gap, quantity, baseline) for entry, gap in zip(members, gaps, strict=True)
        ],
        "hoverinfo": "text",
    }


def _hover_text(row: ForestRow, gap: Gap, quantity: Quantity, baseline: str) -> str:
    write = quantity.write
    words = {"better": "clearly better", "worse": "clearly worse", "unclear": "no clear difference"}
    ends = interval(gap.low, gap.high, quantity.decimals)
    lines = [
        f"<b>{chart_text(row.codec)}</b>, {chart_text(row.group)}",
        f"{chart_text(quantity.label)} {write(gap.codec)}, {chart_text(baseline)} {write(gap.baseline)}",
        f"difference <b>{write(gap.difference)}</b> {ends}".rstrip(),
        f"{words[gap.verdict]}, over {count(row.n, 'clip')}",
        *map(chart_text, row.sources),
    ]
    return "<br>".join(lines)


def _difference_axis(placed: Sequence[_Placed], quantity: Quantity, baseline: str) -> dict[str, Any]:
    gaps = [entry.row.gap for entry in placed if entry.row.gap is not None]
    ends = [end for gap in gaps for end in (gap.difference, gap.low, gap.high) if end is not None]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    room = 0.06 * (high - low) or 1.0
    limits = [low - room, high + room]
    title = f"{chart_text(quantity.title)}: difference to<br>{chart_text(baseline, 40)}, right is better"
    axis = {**base_axis(title), "range": limits if quantity.higher_is_better else limits[::-1]}
    return axis | {"nticks": 6}


def _row_axis(placed: Sequence[_Placed], height: int) -> dict[str, Any]:
    labels = {entry.height: chart_text(shortened(entry.row.codec, _LABEL)) for entry in placed}
    return {
        "tickmode": "array",
        "tickvals": sorted(labels),
        "ticktext": [labels[place] for place in sorted(labels)],
        "tickfont": {"size": 12, "color": LIGHT.ink},
        "range": [-0.7, max(height, 1) - 0.3],
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
        "fixedrange": True,
        "ticks": "",
    }


def _heading(place: int, group: str) -> dict[str, Any]:
    """Write a group's name over its rows, in the plot: there it may be long."""
    position = {"xref": "paper", "x": 0, "xanchor": "left", "yref": "y", "y": place, "yanchor": "middle"}
    style = {"font": {"size": 12, "color": LIGHT.muted}, "bgcolor": LIGHT.paper, "showarrow": False}
    return {**position, **style, "text": chart_text(shortened(group, 60))}


def _no_difference() -> dict[str, Any]:
    line = {"color": LIGHT.front, "width": 1.5, "dash": "dot"}
    return {"type": "line", "x0": 0, "x1": 0, "xref": "x", "y0": 0, "y1": 1, "yref": "paper", "line": line}
