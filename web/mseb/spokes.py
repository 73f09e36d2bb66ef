"""Eight spokes a codec: each super task on the original sound and on the resynthesis; a missing one is a gap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from codec_superb.metrics.results import Score
from codec_superb.web.figures.layout import Figure, base_layout
from codec_superb.web.figures.radar import polar_axes
from codec_superb.web.mseb.choose import Spoke, place_of, scale_words
from codec_superb.web.quantity import Quantity
from codec_superb.web.text import chart_text, count, interval
from codec_superb.web.theme import LIGHT

_UNMARKED = ("",) * 5
"""Each spoke has a scale of its own."""


def spokes_chart(title: str, spokes: Sequence[Spoke]) -> Figure:
    """Draw the ceiling dashed, the codec as a line with its intervals along the spokes, and oracles as diamonds.

    Further out is better. A super task without a value keeps its spoke, says so, and breaks both lines.
    """
    polar = polar_axes([_label(spoke) for spoke in spokes], _UNMARKED)
    layout = {**base_layout(), "polar": polar, "margin": {"l": 8, "r": 8, "t": 8, "b": 8, "pad": 0}}
    if not any(spoke.row for spoke in spokes):
        place = {"xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5, "showarrow": False}
        layout["annotations"] = [{**place, "text": "No super task was measured"}]
        return {"data": [], "layout": layout}
    traces = [_ceiling(spokes), _intervals(spokes), _own(title, spokes)]
    if any(spoke.oracle for spoke in spokes):
        traces.append(_oracles(spokes))
    return {"data": traces, "layout": layout}


def _label(spoke: Spoke) -> str:
    return spoke.task.capitalize() if spoke.row else f"{spoke.task.capitalize()}<br>not<br>measured"


def _radius(spoke: Spoke, score: Score | None) -> float | None:
    quantity = spoke.quantity
    return None if quantity is None or score is None or score.value is None else place_of(quantity, score.value)


def _closed(spokes: Sequence[Spoke], of: Callable[[Spoke], Score | None]) -> dict[str, Any]:
    radii, labels = [_radius(spoke, of(spoke)) for spoke in spokes], [_label(spoke) for spoke in spokes]
    # Plotly closes no line by itself, and breaks it at null
    return {"type": "scatterpolar", "r": [*radii, radii[0]], "theta": [*labels, labels[0]], "connectgaps": False}


def _ceiling(spokes: Sequence[Spoke]) -> dict[str, Any]:
    return {
        **_closed(spokes, lambda spoke: spoke.row.numbers.reference if spoke.row else None),
        "mode": "lines+markers",
        "name": "original sound",
        "meta": {"role": "ceiling"},
        "line": {"color": LIGHT.front, "width": 1.5, "dash": "dash"},
        "marker": {"size": 5, "color": LIGHT.front},
        "hoverinfo": "skip",
    }


def _own(title: str, spokes: Sequence[Spoke]) -> dict[str, Any]:
    colour = LIGHT.families[0]
    texts = [_hover_text(title, spoke) for spoke in spokes]
    return {
        **_closed(spokes, lambda spoke: spoke.row.numbers.resynthesis if spoke.row else None),
        "mode": "lines+markers",
        "name": chart_text(title),
        "meta": {"role": "codec"},
        "line": {"color": colour, "width": 2},
        "marker": {"size": 8, "color": colour},
        "hovertext": [*texts, texts[0]],
        "hoverinfo": "text",
    }


def _intervals(spokes: Sequence[Spoke]) -> dict[str, Any]:
    """Draw a bar along each spoke from one end of the interval to the other."""
    radii: list[float | None] = []
    labels: list[str | None] = []
    for spoke in spokes:
        value, quantity = spoke.row.numbers.resynthesis if spoke.row else None, spoke.quantity
        if quantity is None or value is None or value.low is None or value.high is None:
            continue
        radii += [place_of(quantity, value.low), place_of(quantity, value.high), None]
        labels += [_label(spoke), _label(spoke), None]
    return {
        "type": "scatterpolar",
        "r": radii,
        "theta": labels,
        "mode": "lines",
        "name": "95 % intervals",
        "meta": {"role": "intervals"},
        "connectgaps": False,
        "line": {"color": LIGHT.families[0], "width": 5},
        "opacity": 0.35,
        "hoverinfo": "skip",
    }


def _oracles(spokes: Sequence[Spoke]) -> dict[str, Any]:
    there = [spoke for spoke in spokes if _radius(spoke, spoke.oracle) is not None]
    return {
        "type": "scatterpolar",
        "r": [_radius(spoke, spoke.oracle) for spoke in there],
        "theta": [_label(spoke) for spoke in there],
        "mode": "markers",
        "name": "true transcripts",
        "meta": {"role": "oracle"},
        "marker": {
            "symbol": "diamond-open",
            "size": 10,
            "color": LIGHT.ink,
            "line": {"width": 1.5, "color": LIGHT.ink},
        },
        "hoverinfo": "skip",
    }


def _hover_text(title: str, spoke: Spoke) -> str:
    row, quantity = spoke.row, spoke.quantity
    if row is None or quantity is None:
        return f"{spoke.task.capitalize()}: not measured"
    numbers = row.numbers
    lines = [
        f"<b>{chart_text(quantity.title)}</b>",
        f"{chart_text(title)}: <b>{_written(quantity, numbers.resynthesis)}</b>",
        f"original: {_written(quantity, numbers.reference)}",
        f"loss: {_written(quantity, numbers.loss)}",
    ]
    if spoke.oracle is not None:
        lines.append(f"true transcripts: {_written(quantity, spoke.oracle)}")
    where = chart_text(numbers.dataset) if numbers.dataset else "all locales"
    lines.append(f"{where}, {count(numbers.n, 'clip')}, {chart_text(row.model.backend)}")
    lines.append(scale_words(quantity))
    return "<br>".join(lines)


def _written(quantity: Quantity, score: Score) -> str:
    return f"{quantity.write(score.value)} {interval(score.low, score.high, quantity.decimals)}".rstrip()
