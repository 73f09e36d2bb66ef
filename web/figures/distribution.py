"""Box plot of one metric over clips: a box per codec, drawn from quantiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from codec_superb.web.figures.layout import Figure, base_layout, value_axis
from codec_superb.web.quantity import Quantity, by_bitrate
from codec_superb.web.rows import CodecResult
from codec_superb.web.text import chart_text, count, kbps, shortened
from codec_superb.web.theme import LIGHT, Style

ROW_HEIGHT = 26
"""Pixels for one codec."""
_FRAME_HEIGHT = 84


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Quantiles of one metric over the clips of one codec."""

    n: int
    minimum: float
    p5: float
    q1: float
    median: float
    q3: float
    p95: float
    maximum: float


def quantiles_of(values: Sequence[float]) -> Quantiles | None:
    """Take minimum, 5, 25, 50, 75, 95 % quantiles (linear interpolation) and maximum; None of no values.

    >>> summarise([0.0, 1.0, 2.0, 3.0, 4.0]).median
    2.0
    """
    if not values:
        return None
    quantiles = np.quantile(np.asarray(values, dtype=np.float64), [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1])
    return Quantiles(len(values), *(float(q) for q in quantiles))


def chart_height(rows: int) -> int:
    """Give the height in pixels of a chart with so many codecs."""
    return _FRAME_HEIGHT + ROW_HEIGHT * max(rows, 1)


def distribution_chart(
    results: Sequence[CodecResult], summaries: Mapping[str, Quantiles], quantity: Quantity, styles: Mapping[str, Style]
) -> Figure:
    """Draw a box per codec, the lowest bitrate at the bottom; further right is better.

    ``summaries`` is by codec name; a codec without one keeps its empty row, so that rows stay in place from metric to
    metric. Rows stand at whole numbers, so that a name is never read as a number or a date.
    """
    rows = by_bitrate(results)
    height = {row.codec: index for index, row in enumerate(rows)}
    drawn = sorted((row for row in rows if row.codec in summaries), key=lambda row: row.family)
    traces = []
    for family, members in groupby(drawn, key=lambda row: row.family):
        group = list(members)
        parts = ([height[row.codec] for row in group], [summaries[row.codec] for row in group])
        traces.append(_boxes(*parts, styles[family]))
        traces.append(_extremes(*parts, styles[family]))
        traces.append(_medians(*parts, group, quantity))
    layout = {**base_layout(), "height": chart_height(len(rows)), "xaxis": value_axis(quantity)}
    layout["yaxis"] = {
        "tickmode": "array",
        "tickvals": list(range(len(rows))),
        "ticktext": [chart_text(shortened(row.title, 26)) for row in rows],
        "tickfont": {"size": 12, "color": LIGHT.ink},
        "range": [-0.7, max(len(rows), 1) - 0.3],
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
        "fixedrange": True,
        "ticks": "",
    }
    layout["margin"] = {**layout["margin"], "l": 8}
    return {"data": traces, "layout": layout}


def _boxes(heights: list[int], summaries: list[Quantiles], style: Style) -> dict[str, Any]:
    return {
        "type": "box",
        "orientation": "h",
        "y": heights,
        "lowerfence": [s.p5 for s in summaries],
        "q1": [s.q1 for s in summaries],
        "median": [s.median for s in summaries],
        "q3": [s.q3 for s in summaries],
        "upperfence": [s.p95 for s in summaries],
        "boxpoints": False,
        "width": 0.56,
        "whiskerwidth": 0.5,
        "line": {"color": style.colour, "width": 1.5},
        "fillcolor": LIGHT.soft,
        "hoverinfo": "skip",
    }


def _extremes(heights: list[int], summaries: list[Quantiles], style: Style) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [value for s in summaries for value in (s.minimum, s.maximum)],
        "y": [value for height in heights for value in (height, height)],
        "marker": {"symbol": "circle-open", "size": 5, "color": style.colour},
        "hoverinfo": "skip",
    }


def _medians(
    heights: list[int], summaries: list[Quantiles], group: list[CodecResult], quantity: Quantity
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [s.median for s in summaries],
        "y": heights,
        # Invisible, and wide enough for touch: it only carries the hover text.
        "marker": {"size": 18, "opacity": 0, "color": LIGHT.ink},
        "hovertext": [_hover_text(row, s, quantity) for row, s in zip(group, summaries, strict=True)],
        "hoverinfo": "text",
    }


def _hover_text(row: CodecResult, s: Quantiles, quantity: Quantity) -> str:
    write = quantity.write
    lines = [
        f"<b>{chart_text(row.title)}</b>, {kbps(row.kbps)} kbps",
        f"median <b>{write(s.median)}</b> over {count(s.n, 'clip')}",
        f"middle half {write(s.q1)} to {write(s.q3)}",
        f"5 % to 95 % {write(s.p5)} to {write(s.p95)}",
        f"all {write(s.minimum)} to {write(s.maximum)}",
        chart_text(row.source),
    ]
    return "<br>".join(filter(None, lines))
