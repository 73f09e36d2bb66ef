"""Cumulative distribution of one metric over a codec's clips: the share that reaches a value, a line per dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from codec_superb.web.figures.layout import Figure, base_axis, base_layout, value_axis
from codec_superb.web.quantity import Quantity
from codec_superb.web.text import chart_text, count
from codec_superb.web.theme import LIGHT

POINTS = 201
"""Most points of a line: every half percent."""
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
"""A count without a common factor with the colours', so that 35 datasets differ."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Shares of the clips of one dataset that are at least as good as a value."""

    label: str
    n: int
    """Clips with a value."""
    values: tuple[float, ...]
    """From the worst to the best."""
    shares: tuple[float, ...]
    """Share (0 to 1) of clips at least as good as the value beside it."""


def share_reaching(label: str, values: Sequence[float], *, higher_is_better: bool) -> Curve:
    """Compute the share of clips that reach each value, exactly, or at every half percent where there are many.

    The worst clip's value is reached by all; no line is drawn beyond the best one. Raises ValueError for no values.

    >>> reached("mini", [3.0, 1.0, 2.0, 4.0], higher_is_better=True).shares
    (1.0, 0.75, 0.5, 0.25)
    """
    if not len(values):
        raise ValueError("expected at least one value of a clip")
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    if not higher_is_better:
        ordered = ordered[::-1]
    n = len(ordered)
    kept = np.unique(np.linspace(0, n - 1, min(n, POINTS)).round().astype(int))
    return Curve(label, n, tuple(map(float, ordered[kept])), tuple(float((n - i) / n) for i in kept))


def cumulative_chart(curves: Sequence[Curve], quantity: Quantity) -> Figure:
    """Draw a falling step per dataset; further right, and longer up, is better.

    Shares are in percent. Datasets differ in colour and in dash. Without a curve it says so.
    """
    layout = {**base_layout(), "xaxis": value_axis(quantity), "showlegend": len(curves) > 1}
    layout["legend"] = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": 12}}
    layout["yaxis"] = {**base_axis("Clips at least as good"), "range": [-2, 104], "ticksuffix": " %"}
    if not curves:
        layout["xaxis"]["visible"] = layout["yaxis"]["visible"] = False
        place = {"xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5, "showarrow": False}
        layout["annotations"] = [{**place, "text": "No clip has a value here"}]
    return {"data": [_line(index, curve, quantity) for index, curve in enumerate(curves)], "layout": layout}


def _line(index: int, curve: Curve, quantity: Quantity) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines" if curve.n > 1 else "markers",
        "name": chart_text(curve.label, 40),
        "x": list(curve.values),
        "y": [round(100 * share, 2) for share in curve.shares],
        "line": {
            "color": LIGHT.families[index % len(LIGHT.families)],
            "dash": _DASHES[index % len(_DASHES)],
            "width": 2,
            # A value is reached by its own clip and those beyond it: the share falls after it.
            "shape": "vh",
        },
        "hovertext": [_hover_text(curve, at, quantity) for at in range(len(curve.values))],
        "hoverinfo": "text",
    }


def _hover_text(curve: Curve, at: int, quantity: Quantity) -> str:
    least = "at least" if quantity.higher_is_better else "at most"
    share = f"<b>{100 * curve.shares[at]:.1f} %</b> of {count(curve.n, 'clip')}"
    return f"<b>{chart_text(curve.label, 40)}</b><br>{share}: {least} {quantity.write(curve.values[at])}"
