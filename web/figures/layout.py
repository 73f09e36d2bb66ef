"""Layout shared by all figures: fonts, margins, axes; colours are those of the light palette."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from codec_superb.web.quantity import Quantity
from codec_superb.web.text import chart_text
from codec_superb.web.theme import LIGHT

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif"


class Figure(TypedDict):
    """A Plotly figure as plain data, the argument of ``Plotly.react``."""

    data: list[dict[str, Any]]
    layout: dict[str, Any]


def base_layout() -> dict[str, Any]:
    """Make the layout of every figure: transparent background, no legend (the page has its own)."""
    return {
        "autosize": True,
        "showlegend": False,
        "hovermode": "closest",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 56, "r": 16, "t": 12, "b": 52, "pad": 0},
        "font": {"family": FONT, "size": 13, "color": LIGHT.ink},
        "hoverlabel": {
            "bgcolor": LIGHT.raised,
            "bordercolor": LIGHT.front,
            "align": "left",
            "font": {"family": FONT, "size": 13, "color": LIGHT.ink},
        },
    }


def base_axis(title: str) -> dict[str, Any]:
    """Make an axis with hairline grid and a title."""
    return {
        "title": {"text": title, "font": {"size": 13, "color": LIGHT.muted}, "standoff": 12},
        "gridcolor": LIGHT.line,
        "linecolor": LIGHT.line,
        "zeroline": False,
        "showline": False,
        "ticks": "",
        "tickfont": {"size": 12, "color": LIGHT.muted},
        "automargin": True,
        "fixedrange": False,
    }


def names_axis(names: Sequence[str]) -> dict[str, Any]:
    """Make an axis of names at whole numbers: equal names stay apart, and none is read as a number or a date."""
    return {
        "tickmode": "array",
        "tickvals": list(range(len(names))),
        "ticktext": list(names),
        "tickfont": {"size": 12, "color": LIGHT.ink},
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "automargin": True,
        "fixedrange": True,
    }


def value_axis(quantity: Quantity) -> dict[str, Any]:
    """Make the axis of a quantity, turned so that up, or right, is always better."""
    autorange: bool | str = True if quantity.higher_is_better else "reversed"
    return {**base_axis(chart_text(quantity.axis_title)), "autorange": autorange}


def padded_range(values: list[float], quantity: Quantity, below: float = 0.08, above: float = 0.12) -> list[float]:
    """Give the axis range that shows ``values`` with room, as fractions of their span; worst first, best last."""
    low, high = min(values), max(values)
    span = (high - low) or max(abs(high), 1.0) * 0.1
    if quantity.higher_is_better:
        return [low - below * span, high + above * span]
    return [high + below * span, low - above * span]
