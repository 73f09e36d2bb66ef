"""One codec against the codecs of its bitrate band: an axis per metric, further out is better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from codec_superb.web.figures.layout import Figure, base_layout
from codec_superb.web.quantity import Quantity
from codec_superb.web.text import chart_text, count
from codec_superb.web.theme import LIGHT

LEAST_AXES = 3
"""Fewer axes enclose no area."""
_MARKS = ("0", "", "0.5", "", "1")


@dataclass(frozen=True, slots=True)
class AxisValue:
    """A value and where it stands on the axis."""

    value: float
    """In the metric's own unit."""
    position: float
    """0 (worst) to 1 (best)."""


@dataclass(frozen=True, slots=True)
class RadarAxis:
    """One metric of the codec and of its band."""

    quantity: Quantity
    scale: str
    """Where 0 and 1 lie, in words."""
    own: AxisValue
    median: AxisValue | None
    """Of the band; None where no other codec of the band has the metric."""
    worst: AxisValue | None
    best: AxisValue | None
    others: int
    """Codecs of the band that have the metric."""


def radar_chart(title: str, axes: Sequence[RadarAxis]) -> Figure:
    """Draw the codec as a line, the band's range as a ring and its median dotted; the rim is the best possible value.

    Metrics without a value in the band leave a gap in the ring. Fewer than three axes give a text with the reason.
    """
    layout = {
        **base_layout(),
        "polar": polar_axes([_label(axis) for axis in axes], _MARKS),
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8, "pad": 0},
    }
    if len(axes) < LEAST_AXES:
        layout["polar"]["angularaxis"]["visible"] = layout["polar"]["radialaxis"]["visible"] = False
        place = {"xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5, "showarrow": False}
        layout["annotations"] = [{**place, "text": "Fewer than three metrics have a value here"}]
        return {"data": [], "layout": layout}
    traces: list[dict[str, Any]] = []
    if any(axis.others for axis in axes):
        traces += [
            _ring(axes, [axis.worst for axis in axes], None),
            _ring(axes, [axis.best for axis in axes], LIGHT.soft),
            _median(axes),
        ]
    return {"data": [*traces, _own(title, axes)], "layout": layout}


def polar_axes(labels: Sequence[str], marks: Sequence[str]) -> dict[str, Any]:
    """Make the axes of a radar from 0 in the middle to 1 at the rim; ``marks`` name five places between them."""
    return {
        "bgcolor": "rgba(0,0,0,0)",
        # Names stand outside the rim, in lines of a word each; on a narrow screen too there must be room for them.
        "domain": {"x": [0.21, 0.79], "y": [0.12, 0.88]},
        "radialaxis": {
            "range": [0, 1],
            "tickvals": [0, 0.25, 0.5, 0.75, 1],
            "ticktext": list(marks),
            "tickfont": {"size": 11, "color": LIGHT.muted},
            "gridcolor": LIGHT.line,
            "linecolor": LIGHT.line,
            "angle": 90,
            "tickangle": 90,
            "ticks": "",
        },
        "angularaxis": {
            "type": "category",
            "categoryarray": list(labels),
            "rotation": 90,
            "direction": "clockwise",
            "tickfont": {"size": 12, "color": LIGHT.ink},
            "gridcolor": LIGHT.line,
            "linecolor": LIGHT.line,
        },
    }


def _label(axis: RadarAxis) -> str:
    return "<br>".join(map(chart_text, axis.quantity.label.split()))


def _closed(axes: Sequence[RadarAxis], readings: Sequence[AxisValue | None]) -> dict[str, Any]:
    """Give radius and angle of a line that returns to its first point."""
    radii = [None if reading is None else reading.position for reading in readings]
    labels = [_label(axis) for axis in axes]
    return {"type": "scatterpolar", "r": [*radii, radii[0]], "theta": [*labels, labels[0]]}


def _ring(axes: Sequence[RadarAxis], readings: Sequence[AxisValue | None], fill: str | None) -> dict[str, Any]:
    """Draw one edge of the band's range; with ``fill`` the area up to the edge drawn before."""
    trace = {
        **_closed(axes, readings),
        "mode": "lines",
        "name": "worst of the band" if fill is None else "best of the band",
        "line": {"color": LIGHT.line, "width": 1},
        "hoverinfo": "skip",
    }
    return trace if fill is None else {**trace, "fill": "tonext", "fillcolor": fill}


def _median(axes: Sequence[RadarAxis]) -> dict[str, Any]:
    return {
        **_closed(axes, [axis.median for axis in axes]),
        "mode": "lines",
        "name": "median of the band",
        "line": {"color": LIGHT.front, "width": 1.5, "dash": "dot"},
        "hoverinfo": "skip",
    }


def _own(title: str, axes: Sequence[RadarAxis]) -> dict[str, Any]:
    colour = LIGHT.families[0]
    texts = [_hover_text(title, axis) for axis in axes]
    return {
        **_closed(axes, [axis.own for axis in axes]),
        "mode": "lines+markers",
        "name": chart_text(title),
        "line": {"color": colour, "width": 2},
        "marker": {"size": 8, "color": colour},
        "hovertext": [*texts, texts[0]],
        "hoverinfo": "text",
    }


def _hover_text(title: str, axis: RadarAxis) -> str:
    write = axis.quantity.write
    lines = [
        f"<b>{chart_text(axis.quantity.title)}</b>",
        f"{chart_text(title)}: <b>{write(axis.own.value)}</b>, {axis.own.position:.2f} on the axis",
    ]
    if axis.median is not None and axis.worst is not None and axis.best is not None:
        lines.append(f"median of {count(axis.others, 'other codec')}: {write(axis.median.value)}")
        lines.append(f"worst {write(axis.worst.value)}, best {write(axis.best.value)}")
    return "<br>".join(lines)
