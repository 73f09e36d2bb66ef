"""A score against bits or tokens a second: encoders beside codecs; continuous frames stand in a strip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from codec_superb.web.application_rows import UNLIKE
from codec_superb.web.figures.across import TITLES, Across
from codec_superb.web.figures.application import Ceiling, with_ceilings
from codec_superb.web.figures.labels import fitting_labels
from codec_superb.web.figures.layout import Figure, base_axis, base_layout, padded_range
from codec_superb.web.figures.rate import LABEL_LENGTH, rate_axis, title_rate_axis
from codec_superb.web.figures.remote import at_edge, near_others, outside_text, tell_outside
from codec_superb.web.quantity import Quantity
from codec_superb.web.text import chart_text, count, interval, kbps, shortened
from codec_superb.web.theme import LIGHT, family_style
from codec_superb.web.xares.rows import XaresRow

_STRIP = 0.3
"""Width of the strip, of that of the bitrates."""


class _Placed(NamedTuple):
    x: float
    """Logarithm of kbps or tokens a second, or a place in the strip."""
    arrow: str
    """Shape of what stands at an end of the axis; '' of others."""
    place: float
    """Kbps or tokens a second; 0 in the strip."""
    row: XaresRow


def xares_rate_chart(rows: Sequence[XaresRow], across: Across = "") -> Figure:
    """Draw one figure on one dataset, read by one reader; thin bars are intervals by clips, thick ones seeds.

    Controls are lines. Each trace says its family in ``meta``, for the page's legend.
    """
    drawn = [row for row in rows if not row.control]
    if not drawn:
        place = {"xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5, "showarrow": False}
        return {"data": [], "layout": {**base_layout(), "annotations": [{**place, "text": "Nothing was measured"}]}}
    quantity = drawn[0].quantity
    layout, placed = _axes(drawn, quantity, across)
    heard_by = {row.heard_by for row in drawn if row.kind == "resynthesis"}
    families: dict[str, list[_Placed]] = {}
    for each in placed:
        families.setdefault(_family(each.row, several=len(heard_by) > 1), []).append(each)
    traces = [_seeds(name, members) for name, members in families.items()]
    traces += [_marks(name, members, quantity) for name, members in families.items()]
    traces.append(_names(placed, layout))
    controls = [
        Ceiling(
            row.encoder,
            row.value,
            chart_text(", ".join(filter(None, (row.mode, row.own and f"own, {row.own}", row.source))), 120),
        )
        for row in rows
        if row.control and row.kind != "resynthesis"
    ]
    strip = (layout.pop("shapes"), layout.pop("annotations"))
    figure = with_ceilings({"data": traces, "layout": layout}, quantity, controls)
    figure["layout"]["shapes"] = [*strip[0], *figure["layout"]["shapes"]]
    figure["layout"]["annotations"] = [*strip[1], *figure["layout"]["annotations"]]
    return figure


def _axes(rows: Sequence[XaresRow], quantity: Quantity, across: Across) -> tuple[dict[str, Any], list[_Placed]]:
    """Lay out the axes with the strip right of the bitrates or tokens a second, and place the rows."""
    places = [(row, row.tokens_per_s if across else row.bits_per_s and row.bits_per_s / 1000) for row in rows]
    known = [(place, row) for row, place in places if place]
    without = sorted((row for row, place in places if not place), key=lambda row: (row.kind, row.title, row.mode))
    inside = near_others([place for place, _ in known], senders=[row.sender for _, row in known])
    axis = rate_axis(inside)
    left, right = axis["range"]
    layout = {**base_layout(), "xaxis": axis, "yaxis": base_axis(chart_text(quantity.axis_title))}
    if across:
        axis["title"]["text"] = TITLES[across]
    else:
        title_rate_axis(layout, {"nominal" if row.kind == "codec as encoder" else "measured" for _, row in known})
    placed = [_Placed(*at_edge(place, inside, axis["range"]), place, row) for place, row in known]
    tell_outside(layout, sum(bool(each.arrow) for each in placed))
    ends = [end for row in rows for end in (*row.seeds, row.clips.low, row.clips.high, row.value) if end is not None]
    layout["yaxis"]["range"] = padded_range(ends, quantity)
    layout.setdefault("annotations", [])
    layout["shapes"] = []
    if without:
        width = _STRIP * (right - left)
        axis["range"] = [left, right + width]
        step = width / (len(without) + 1)
        placed += [_Placed(right + step * number, "", 0.0, row) for number, row in enumerate(without, 1)]
        paper = {"xref": "x", "yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
        layout["shapes"] = [
            {"type": "rect", **paper, "x0": 10**right, "x1": 10 ** (right + width), "fillcolor": LIGHT.soft,
             "line": {"width": 0}},
            {"type": "line", **paper, "x0": 10**right, "x1": 10**right, "line": {"color": LIGHT.front, "dash": "dot"}},
        ]  # fmt: skip
        # upright, for which a phone has room too
        layout["annotations"] += [
            {"xref": "x", "x": right, "xanchor": "left", "yref": "paper", "y": 0.5, "yanchor": "middle",
             "textangle": -90, "text": "no tokens known" if across else "no bit rate", "showarrow": False,
             "font": {"size": 12, "color": LIGHT.muted}}
        ]  # fmt: skip
    return layout, placed


def _family(row: XaresRow, *, several: bool) -> str:
    """Name what is drawn alike: a codec keeps its family's colour, and has another shape where it is the encoder."""
    if row.kind == "encoder":
        return row.heard_by if row.own else row.title
    if row.kind == "codec as encoder":
        return f"{row.family} (as encoder{', own' if row.own else ''})"
    return f"{row.family} (heard by {row.heard_by})" if several else row.family


def _seeds(family: str, members: Sequence[_Placed]) -> dict[str, Any]:
    x: list[float | None] = []
    y: list[float | None] = []
    for place, _, _, row in members:
        if len(row.seeds) > 1:
            x += [10**place, 10**place, None]
            y += [min(row.seeds), max(row.seeds), None]
    return {
        "type": "scatter", "mode": "lines", "name": "seeds", "meta": {"role": "names", "family": family}, "x": x,
        "y": y, "line": {"color": family_style(family).colour, "width": 7}, "opacity": 0.35, "hoverinfo": "skip",
    }  # fmt: skip


def _marks(family: str, members: Sequence[_Placed], quantity: Quantity) -> dict[str, Any]:
    style = family_style(family)
    up = [max(0.0, (row.clips.high or row.value) - row.value) for *_, row in members]
    down = [max(0.0, row.value - (row.clips.low if row.clips.low is not None else row.value)) for *_, row in members]
    error = {"type": "data", "symmetric": False, "array": up, "arrayminus": down}
    return {
        "type": "scatter", "mode": "markers", "name": chart_text(family), "meta": {"role": "family", "family": family},
        "x": [10**each.x for each in members], "y": [each.row.value for each in members],
        "marker": {
            "symbol": [
                (each.arrow or style.symbol) + ("-open" if each.row.mode != "references" else "") for each in members
            ],
            "size": 10, "color": style.colour, "line": {"width": 1.5, "color": style.colour},
        },
        "error_y": {**error, "color": style.colour, "thickness": 1, "width": 3},
        "hovertext": [
            hover_text(each.row, quantity) + (outside_text(each.place) if each.arrow else "") for each in members
        ],
        "hoverinfo": "text", "customdata": [each.row.url for each in members],
    }  # fmt: skip


def hover_text(row: XaresRow, quantity: Quantity) -> str:
    """Write the hover text of a point: who, at which rates, value, seeds and interval, source."""
    value = f"{chart_text(quantity.title)}: <b>{quantity.write(row.value)}</b>"
    lines = [f"<b>{chart_text(row.title)}</b>", chart_text(row.told, 120), rates_text(row), value, spread_text(row)]
    lines += [f"over {count(row.n, 'clip')}", UNLIKE if row.apart else "", chart_text(row.source, 120)]
    return "<br>".join(filter(None, lines))


def rates_text(row: XaresRow) -> str:
    """Write bits, tokens, frames and numbers a second, as far as they are known."""
    if row.bits_per_s:
        bits = f"{kbps(row.bits_per_s / 1000)}\u00a0kbps" + (" nominal" if row.kind == "codec as encoder" else "")
    else:
        bits = "continuous: no bit rate" if row.kind == "encoder" else "bit rate not known"
    units = ((row.tokens_per_s, "tokens/s"), (row.frames_per_s, "frames/s"), (row.numbers_per_s, "numbers/s"))
    return ", ".join([bits, *(f"{value:,.1f}".removesuffix(".0") + f"\u00a0{unit}" for value, unit in units if value)])


def spread_text(row: XaresRow) -> str:
    """Write the spread over seeds, and the interval by clips."""
    write = row.quantity.write
    seeds = ""
    if len(row.seeds) > 1:
        seeds = f"{len(row.seeds)}\u00a0seeds\u00a0{write(min(row.seeds))}\u00a0to\u00a0{write(max(row.seeds))}"
    ends = interval(row.clips.low, row.clips.high, row.quantity.decimals)
    return ", ".join(filter(None, (seeds or "one seed", f"clips\u00a0{ends}" if ends else "")))


def _names(placed: Sequence[_Placed], layout: dict[str, Any]) -> dict[str, Any]:
    """Name the points whose name fits, over everything else."""
    (left, right), (bottom, top) = layout["xaxis"]["range"], layout["yaxis"]["range"]
    places = [((x - left) / (right - left), (row.value - bottom) / (top - bottom)) for x, *_, row in placed]
    labels = [shortened(each.row.label, LABEL_LENGTH) for each in placed]
    fits = fitting_labels(places, labels, places)
    shown = [each for each, fit in zip(placed, fits, strict=True) if fit]
    return {
        "type": "scatter", "name": "names", "meta": {"role": "names"}, "mode": "markers+text",
        "marker": {"size": 10, "opacity": 0, "color": LIGHT.ink}, "x": [10**each.x for each in shown],
        "y": [each.row.value for each in shown], "text": [chart_text(each.row.label, LABEL_LENGTH) for each in shown],
        "textposition": "top left", "textfont": {"size": 12, "color": LIGHT.ink}, "hoverinfo": "skip",
    }  # fmt: skip
