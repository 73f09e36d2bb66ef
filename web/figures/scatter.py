"""Clip by clip: one codec's metric against the same or another one's, a dot per clip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from codec_superb.web.figures.layout import Figure, base_layout, value_axis
from codec_superb.web.quantity import Quantity
from codec_superb.web.rows import ClipPoint
from codec_superb.web.text import chart_text
from codec_superb.web.theme import LIGHT


@dataclass(frozen=True, slots=True)
class AxisChoice:
    """Codec and quantity of one axis."""

    codec: str
    title: str
    """Of the codec."""
    quantity: Quantity


@dataclass(frozen=True, slots=True)
class ClipKey:
    """Dataset and id, which identify a clip within a category."""

    dataset: str
    clip: str


def clip_keys(points: Sequence[ClipPoint]) -> list[ClipKey]:
    """List each clip once, by dataset and name: the numbering of clips in figures and page."""
    return sorted({ClipKey(point.dataset, point.clip) for point in points}, key=lambda key: (key.dataset, key.clip))


def scatter_chart(
    points: Sequence[ClipPoint], x: AxisChoice, y: AxisChoice, listenable: Sequence[ClipKey] = ()
) -> Figure:
    """Draw the clips that have a value on both axes; those that can be heard as diamonds.

    With one quantity on both axes a diagonal shows where both codecs are equal: above it, the vertical one is better.
    Four traces, always: diagonal, clips without sound, clips with sound, the selected clip (empty here).
    ``customdata`` numbers the clips as :func:`clip_keys` does.
    """
    shared = paired_values(points, x, y)
    numbers = {key: index for index, key in enumerate(clip_keys(points))}
    heard = set(listenable)
    ends: list[float] = []
    if shared and x.quantity == y.quantity:
        values = [value for pair in shared.values() for value in pair]
        ends = [min(values), max(values)]
    traces = [_diagonal(ends)]
    for audible in (False, True):
        clips = [key for key in shared if (key in heard) == audible]
        dots = _dots([shared[key] for key in clips], audible=audible)
        dots["hovertext"] = [_hover_text(key, shared[key], x, y) for key in clips]
        dots["customdata"] = [numbers[key] for key in clips]
        traces.append(dots)
    layout = {**base_layout(), "xaxis": _axis(x), "yaxis": _axis(y)}
    return {"data": [*traces, _selected()], "layout": layout}


def paired_values(points: Sequence[ClipPoint], x: AxisChoice, y: AxisChoice) -> dict[ClipKey, tuple[float, float]]:
    """Find the clips with a value on both axes, by dataset and name."""
    found: list[dict[ClipKey, float]] = []
    for axis in (x, y):
        key = axis.quantity.key
        mine = (point for point in points if point.codec == axis.codec and key in point.metrics)
        found.append({ClipKey(point.dataset, point.clip): point.metrics[key] for point in mine})
    shared = sorted(found[0].keys() & found[1].keys(), key=lambda clip: (clip.dataset, clip.clip))
    return {clip: (found[0][clip], found[1][clip]) for clip in shared}


def axis_label(choice: AxisChoice) -> str:
    """Name codec and quantity, for hover texts."""
    return f"{chart_text(choice.title, 32)}, {chart_text(choice.quantity.label)}"


def _axis(choice: AxisChoice) -> dict[str, Any]:
    axis = value_axis(choice.quantity)
    axis["title"]["text"] = f"{chart_text(choice.title, 32)}: {axis['title']['text']}"
    return axis


def _hover_text(key: ClipKey, pair: tuple[float, float], x: AxisChoice, y: AxisChoice) -> str:
    lines = [f"<b>{chart_text(key.clip, 60)}</b>", chart_text(key.dataset, 60)]
    lines += [
        f"{axis_label(axis)}: {axis.quantity.write(value)}"
        for axis, value in zip((y, x), (pair[1], pair[0]), strict=True)
    ]
    return "<br>".join(lines)


def _dots(pairs: list[tuple[float, float]], *, audible: bool) -> dict[str, Any]:
    symbol = {"symbol": "diamond", "size": 11} if audible else {"symbol": "circle", "size": 7}
    colour = LIGHT.families[1 if audible else 0]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "with sound" if audible else "without sound",
        "x": [pair[0] for pair in pairs],
        "y": [pair[1] for pair in pairs],
        "marker": {**symbol, "color": colour, "opacity": 0.85, "line": {"color": LIGHT.paper, "width": 1}},
        "hoverinfo": "text",
    }


def _diagonal(ends: list[float]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "equal",
        "x": ends,
        "y": ends,
        "line": {"color": LIGHT.front, "width": 1.5, "dash": "dot"},
        "hoverinfo": "skip",
    }


def _selected() -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "selected",
        "x": [],
        "y": [],
        "marker": {"symbol": "circle-open", "size": 20, "color": LIGHT.ink, "line": {"width": 2}},
        "hoverinfo": "skip",
    }
