"""What tokens carry, as a picture: phones upwards, speakers to the right, a point and its codebooks for each codec."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from codec_superb.web.figures.layout import Figure, base_axis, base_layout
from codec_superb.web.text import chart_text
from codec_superb.web.theme import LIGHT


class Told(NamedTuple):
    """Percent of the entropy of a label that tokens tell, less what they seem to tell of labels in wrong places."""

    value: float
    low: float | None = None
    """95 % interval, where there is one."""
    high: float | None = None


class ContentsPoint(NamedTuple):
    """One codec on one dataset."""

    title: str
    colour: str
    phones: Told
    speakers: Told
    codebooks: Sequence[tuple[float, float]] = ()
    """Phones and speakers told by each codebook, from the first; drawn as a thin line."""
    detail: str = ""
    """Further text of the point: bitrate, tokens a second."""


def contents_chart(points: Sequence[ContentsPoint]) -> Figure:
    """Draw a point for each codec, semantic tokens above on the left, acoustic ones below on the right."""
    traces: list[dict[str, Any]] = []
    for point in points:
        if point.codebooks:
            traces.append(_tail(point))
        traces.append(_point(point))
    layout = {
        **base_layout(),
        "xaxis": base_axis("Speakers told (% of their entropy)"),
        "yaxis": base_axis("Phones told (% of their entropy)"),
        "showlegend": True,
    }
    return {"data": traces, "layout": layout}


def _point(point: ContentsPoint) -> dict[str, Any]:
    name = chart_text(point.title, 40)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [point.speakers.value],
        "y": [point.phones.value],
        "error_x": _arms(point.speakers),
        "error_y": _arms(point.phones),
        "marker": {"size": 11, "color": point.colour},
        "hovertext": [
            f"{name}<br>phones {point.phones.value:.1f} %, speakers {point.speakers.value:.1f} %"
            + (f"<br>{chart_text(point.detail)}" if point.detail else "")
        ],
        "hoverinfo": "text",
    }


def _tail(point: ContentsPoint) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": [speakers for _, speakers in point.codebooks],
        "y": [phones for phones, _ in point.codebooks],
        "line": {"width": 1, "color": point.colour},
        "marker": {"size": 4, "color": point.colour},
        "opacity": 0.5,
        "showlegend": False,
        "hovertext": [
            f"{chart_text(point.title, 40)}, codebook {book}<br>phones {phones:.1f} %, speakers {speakers:.1f} %"
            for book, (phones, speakers) in enumerate(point.codebooks, start=1)
        ],
        "hoverinfo": "text",
    }


def _arms(told: Told) -> dict[str, Any]:
    if told.low is None or told.high is None:
        return {"visible": False}
    return {
        "type": "data",
        "symmetric": False,
        "array": [told.high - told.value],
        "arrayminus": [told.value - told.low],
        "thickness": 1,
        "color": LIGHT.muted,
    }
