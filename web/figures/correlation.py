"""A matrix of correlations as a heat map with its numbers written into it."""

from __future__ import annotations

from collections.abc import Sequence

from codec_superb.web.figures.layout import Figure, base_layout, names_axis
from codec_superb.web.text import MISSING, chart_text, number
from codec_superb.web.theme import LIGHT

CELL = 40
"""Pixels of a row."""
_FRAME_HEIGHT = 150
_LABEL = 26


def correlation_chart(
    labels: Sequence[str], coefficients: Sequence[Sequence[float | None]], counts: Sequence[Sequence[int]], things: str
) -> Figure:
    """Draw a square of coefficients, the first quantity at the top left; None leaves a cell empty.

    ``counts`` says over how many ``things`` (``codecs``, ``clips``) each rests.
    """
    names = [chart_text(label, _LABEL) for label in labels]
    layout = {**base_layout(), "height": _FRAME_HEIGHT + CELL * max(len(labels), 1)}
    layout["xaxis"] = {**names_axis(names), "tickangle": -40, "side": "bottom"}
    layout["yaxis"] = {**names_axis(names), "autorange": "reversed"}
    layout["margin"] = {**layout["margin"], "l": 8, "b": 8}
    if not labels:
        place = {"xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5, "showarrow": False}
        layout["annotations"] = [{**place, "text": "Nothing to correlate here"}]
        layout["xaxis"]["visible"] = layout["yaxis"]["visible"] = False
        return {"data": [], "layout": layout}
    trace = {
        "type": "heatmap",
        "z": [list(row) for row in coefficients],
        "zmin": -1,
        "zmax": 1,
        "colorscale": [[0, LIGHT.families[1]], [0.5, LIGHT.paper], [1, LIGHT.families[0]]],
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        # Half transparent, so that the numbers stand out from every cell on light paper and on dark.
        "opacity": 0.55,
        "textfont": {"size": 12, "color": LIGHT.ink},
        "text": [[number(value, 2) for value in row] for row in coefficients],
        "texttemplate": "%{text}",
        "hovertext": _hover_texts(names, coefficients, counts, things),
        "hoverinfo": "text",
    }
    return {"data": [trace], "layout": layout}


def _hover_texts(
    names: Sequence[str], coefficients: Sequence[Sequence[float | None]], counts: Sequence[Sequence[int]], things: str
) -> list[list[str]]:
    return [
        [
            f"{one} and {two}<br><b>{number(value, 3) if value is not None else MISSING}</b> over {n} {things}"
            for two, value, n in zip(names, row, row_counts, strict=True)
        ]
        for one, row, row_counts in zip(names, coefficients, counts, strict=True)
    ]
