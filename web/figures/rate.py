"""Bitrate against the overall score or a metric: families as lines, intervals, Pareto front, lossless ceilings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import ceil, floor, log2, log10
from typing import Any

from codec_superb.metrics.results import Estimate
from codec_superb.web.figures.family_line import family_line
from codec_superb.web.figures.labels import fitting_labels
from codec_superb.web.figures.layout import Figure, base_axis, base_layout, padded_range
from codec_superb.web.figures.pareto import contenders, measured_of, pareto_front, usually_on, whole_of
from codec_superb.web.figures.remote import near_others, stand_at_edges
from codec_superb.web.quantity import Quantity
from codec_superb.web.rows import CodecResult
from codec_superb.web.text import chart_text, codec_address, count, interval, kbps, shortened
from codec_superb.web.theme import CEILING_SYMBOL, LIGHT, Style

LABEL_LENGTH = 24
"""Letters of a name in the chart."""
_MOST_TICK_LABELS = 8
_MOST_NAMES = 6
ELSEWHERE = "not measured as most were (datasets, their state, definitions)"
"""Why a codec is of no front."""

_Point = tuple[CodecResult, Estimate]


def rate_chart(
    results: Sequence[CodecResult],
    quantity: Quantity,
    styles: Mapping[str, Style],
    *,
    lines: bool = True,
    linked: bool = False,
    across: str = "",
) -> Figure:
    """Draw the codecs of one category; those without a value or a bitrate are left out.

    The horizontal axis is logarithmic, bitrate in kbps. Lossless codecs are stars outside lines and front, declared
    bitrates are outside the front and open with a dot, other open markers are incomplete or have clips without a value,
    outside it beside those that have fewer. Each trace says in ``meta`` what it is, for the page's legend.
    A family's line joins ascending bitrates, see :func:`family_line`. Without ``lines`` lossy codecs are small marks
    without intervals, apart from those of the front: for more lines than can be told apart. What is far from all others
    stands at the edge (:mod:`~codec_superb.web.figures.remote`). ``linked`` gives each point
    the address of its codec's page. ``across`` is the title of the horizontal axis where it is not bitrate and each
    result says its place on it.
    """
    points = _points(results, quantity)
    rows = [row for row, _ in points]
    senders = [row.sender or row.codec for row in rows]
    inside = near_others([row.place for row in rows], [row.lossless for row in rows], senders)
    layout = {**base_layout(), "xaxis": rate_axis(inside)}
    if across:
        layout["xaxis"]["title"]["text"] = across
    else:
        title_rate_axis(layout, {row.rate_mark or "measured" for row, _ in points})
    layout["yaxis"] = {**base_axis(chart_text(quantity.axis_title))}
    if not points:
        return _empty(layout)
    layout["yaxis"]["range"] = padded_range([end for _, e in points for end in _ends(e)], quantity)
    lossy = [point for point in points if not point[0].lossless]
    front = _front(lossy, quantity)
    named = [*front, *(point for point in points if point[0].lossless)]
    shown = _labelled([point for point in named if inside[0] <= point[0].place <= inside[-1]], points, layout)
    traces = [_front_trace(front)] if front else []
    if lines:
        for family, members in _by_family(lossy):
            traces += _family_traces(members, quantity, styles[family])
    else:
        traces += [_dots_trace(members, quantity, styles[family]) for family, members in _by_family(lossy)]
        traces += [_front_dots_trace(members, quantity, styles[family]) for family, members in _by_family(front)]
    for family, members in _by_family(point for point in points if point[0].lossless):
        traces.append(_ceiling_trace(members, quantity, styles[family]))
    # Names come last, so that no line is drawn over them.
    traces += [_label_trace(members) for _, members in _by_family(p for p in points if p[0].codec in shown)]
    stand_at_edges(traces, layout, inside)
    if not linked:
        for trace in traces:
            trace.pop("customdata", None)
    return {"data": traces, "layout": layout}


def _empty(layout: dict[str, Any]) -> Figure:
    """Draw a text in place of axes, which would have an arbitrary range without data."""
    layout["xaxis"]["visible"] = layout["yaxis"]["visible"] = False
    place = {"xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5, "showarrow": False}
    layout["annotations"] = [{**place, "text": "No codec has a value here"}]
    return {"data": [], "layout": layout}


def _points(results: Sequence[CodecResult], quantity: Quantity) -> list[_Point]:
    pairs = ((result, quantity.of(result)) for result in results)
    return [(row, e) for row, e in pairs if e is not None and e.mean is not None and row.place > 0]


def _value(estimate: Estimate) -> float:
    assert estimate.mean is not None  # _points keeps no other
    return estimate.mean


def _ends(estimate: Estimate) -> list[float]:
    return [end for end in (estimate.mean, estimate.low, estimate.high) if end is not None]


def _by_family(points: Iterable[_Point]) -> list[tuple[str, list[_Point]]]:
    ordered = sorted(points, key=_family_then_rate)
    return [(family, list(members)) for family, members in groupby(ordered, key=lambda point: point[0].family)]


def _family_then_rate(point: _Point) -> tuple[str, float, str]:
    return point[0].family, point[0].place, point[0].codec


def _front(lossy: list[_Point], quantity: Quantity) -> list[_Point]:
    rows = [row for row, _ in lossy]
    measured = [measured_of(row, quantity.key) for row in rows]
    can = [not (row.uncounted or row.apart) for row in rows]
    counted = [lossy[place] for place in contenders(can, whole_of(lossy), measured)]
    rates, values = [row.place for row, _ in counted], [_value(e) for _, e in counted]
    return [counted[i] for i in pareto_front(rates, values, higher_is_better=quantity.higher_is_better)]


def _front_trace(front: list[_Point]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": "Pareto front",
        "meta": {"role": "front"},
        "mode": "lines",
        "x": [row.place for row, _ in front],
        "y": [_value(e) for _, e in front],
        # The best value at a bitrate or less is constant until the next codec: a step, no slope.
        "line": {"color": LIGHT.front, "width": 1.5, "dash": "dot", "shape": "hv"},
        "hoverinfo": "skip",
    }


def _family_traces(members: list[_Point], quantity: Quantity, style: Style) -> list[dict[str, Any]]:
    """Draw a family's line with its points, and the points apart from it, if there are any."""
    alike = [n for n, (row, _) in enumerate(members) if not row.apart]
    places, values = [members[n][0].place for n in alike], [_value(members[n][1]) for n in alike]
    joined = [alike[n] for n in family_line(places, values, higher_is_better=quantity.higher_is_better)]
    apart = sorted(set(range(len(members))) - set(joined))
    line = {"mode": "lines+markers", "line": {"color": style.colour, "width": 1.5}}
    meta = {"role": "family", "family": members[0][0].family}
    marks = (_marker_trace([members[n] for n in part], quantity, style.colour, style.symbol, size=9)
             for part in (joined, apart) if part)  # fmt: skip
    looks = (line, {}) if joined else ({},)
    return [trace | look | {"meta": meta} for trace, look in zip(marks, looks, strict=False)]


def _dots_trace(members: list[_Point], quantity: Quantity, style: Style) -> dict[str, Any]:
    """Draw a family's codecs with short hover texts, because there are thousands on the chart."""
    return {
        "type": "scatter",
        "name": chart_text(members[0][0].family),
        "meta": {"role": "points", "family": members[0][0].family},
        "mode": "markers",
        "marker": {
            "symbol": [f"{style.symbol}{_state(row, e)}" for row, e in members],
            "size": 6,
            "color": style.colour,
            "opacity": 0.55,
        },
        "x": [row.place for row, _ in members],
        "y": [_value(e) for _, e in members],
        "hovertext": [
            "<br>".join(filter(None, [f"<b>{chart_text(row.title)}</b>", quantity.write(e.mean), _source(row)]))
            for row, e in members
        ],
        "hoverinfo": "text",
        "customdata": [codec_address(row.codec) for row, _ in members],
    }


def _front_dots_trace(members: list[_Point], quantity: Quantity, style: Style) -> dict[str, Any]:
    """Draw a family's codecs of the front over the dots, with their intervals and full texts."""
    trace = _marker_trace(members, quantity, style.colour, style.symbol, size=10)
    trace["marker"]["line"] = {"width": 1, "color": LIGHT.ink}
    return {**trace, "meta": {"role": "front points", "family": members[0][0].family}}


def _ceiling_trace(members: list[_Point], quantity: Quantity, style: Style) -> dict[str, Any]:
    trace = _marker_trace(members, quantity, style.colour, CEILING_SYMBOL, size=12)
    return {**trace, "meta": {"role": "ceiling", "family": members[0][0].family}}


def _marker_trace(members: list[_Point], quantity: Quantity, colour: str, symbol: str, *, size: int) -> dict[str, Any]:
    """Draw points with their intervals; open ones are incomplete, or declared with a dot."""
    values = [_value(e) for _, e in members]
    up = [
        max(0.0, e.high - value) if e.high is not None else 0.0 for (_, e), value in zip(members, values, strict=True)
    ]
    down = [
        max(0.0, value - e.low) if e.low is not None else 0.0 for (_, e), value in zip(members, values, strict=True)
    ]
    error = {"type": "data", "symmetric": False, "array": up, "arrayminus": down}
    return {
        "type": "scatter",
        "name": chart_text(members[0][0].family),
        "mode": "markers",
        "marker": {
            "symbol": [f"{symbol}{_state(row, e)}" for row, e in members],
            "size": size,
            "color": colour,
            "line": {"width": 1.5, "color": colour},
        },
        "x": [row.place for row, _ in members],
        "y": values,
        "error_y": {**error, "color": colour, "thickness": 1, "width": 3},
        "hovertext": [hover_text(row, e, quantity) for row, e in members],
        "hoverinfo": "text",
        "customdata": [codec_address(row.codec) for row, _ in members],
    }


def _state(row: CodecResult, estimate: Estimate) -> str:
    """Return what Plotly's name of a shape ends with: a declared bitrate comes before a missing clip."""
    if row.uncounted:
        return "-open-dot"
    return "" if row.summary.complete and not (estimate.failed or row.apart) else "-open"


def rate_notes(results: Sequence[CodecResult]) -> str:
    """Say for a caption which marks are of declared bitrates, and which codecs have none to be drawn at."""
    notes = []
    if any(row.uncounted and row.kbps > 0 for row in results):
        notes.append(" Open marks with a dot: bitrate declared, not measured; they are outside the front.")
    if without := sorted({row.title for row in results if not row.kbps > 0}):  # NaN is not above 0
        notes.append(f" Without a bitrate, and so not drawn: {some_of(without)}.")
    return "".join(notes)


def front_notes(results: Sequence[CodecResult], quantity: Quantity) -> str:
    """Say for a caption which codecs are outside the front since they were not measured as most were.

    Of those that the chart draws: a metric may have no value on the datasets that most have.
    """
    others = sorted({row.title for row in _elsewhere(results, quantity)})
    return f" Outside the front, since {ELSEWHERE}: {some_of(others)}." if others else ""


def marked_elsewhere(results: Sequence[CodecResult], quantity: Quantity) -> list[CodecResult]:
    """Say of codecs that were not measured as most were that they are apart: open marks outside the family's line."""
    others = {id(row) for row in _elsewhere(results, quantity)}
    return [replace(row, apart=ELSEWHERE) if id(row) in others and not row.apart else row for row in results]


def _elsewhere(results: Sequence[CodecResult], quantity: Quantity) -> list[CodecResult]:
    points = _points(results, quantity)
    counted = [
        (row, on, whole)
        for (row, _), whole in zip(points, whole_of(points), strict=True)
        if not (row.uncounted or row.lossless) and (on := measured_of(row, quantity.key)) is not None
    ]
    usual = usually_on([on for _, on, whole in counted if whole] or [on for _, on, _ in counted])
    return [row for row, on, _ in counted if on.on != usual]


def some_of(names: Sequence[str]) -> str:
    """List a few names, and count the others."""
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def title_rate_axis(layout: dict[str, Any], kinds: Iterable[str]) -> None:
    """Name on the bitrate axis where its numbers come from: measured, declared, nominal."""
    found = [kind for kind in ("measured", "declared", "nominal") if kind in kinds] or ["measured"]
    said = f"{found[0].capitalize()} bitrate" if len(found) == 1 else f"Bitrate, {' or '.join(found)}"
    layout["xaxis"]["title"]["text"] = f"{said} (kbps, logarithmic)"


def _label_trace(members: list[_Point]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": "names",
        "meta": {"role": "names", "family": members[0][0].family},
        # The invisible markers keep the names clear of the visible ones.
        "mode": "markers+text",
        "marker": {"size": 10, "opacity": 0, "color": LIGHT.ink},
        "x": [row.place for row, _ in members],
        "y": [_value(e) for _, e in members],
        "text": [chart_text(row.title, LABEL_LENGTH) for row, _ in members],
        "textposition": "top left",
        "textfont": {"size": 12, "color": LIGHT.ink},
        "hoverinfo": "skip",
    }


def hover_text(row: CodecResult, estimate: Estimate, quantity: Quantity) -> str:
    """Write the hover text of one point: name, bitrates, value with interval, clips, source, marks.

    Without clips nothing was measured here: bitrate and value are published ones.
    """
    summary = row.summary
    rate = f"{kbps(row.kbps)} kbps {row.rate_mark or ('measured' if summary.clips else 'nominal')}"
    if summary.clips and row.nominal_kbps is not None and not row.rate_mark:
        rate += f", {kbps(row.nominal_kbps)} nominal"
    value = f"{chart_text(quantity.title)}: <b>{quantity.write(estimate.mean)}</b>"
    ends = interval(estimate.low, estimate.high, quantity.decimals)
    lines = [f"<b>{chart_text(row.title)}</b>", rate, f"{value}  {ends}".rstrip()]
    lines += [f"over {count(estimate.n, 'clip')}"] if summary.clips else []
    lines += filter(None, [_source(row)])
    if row.lossless:
        lines.append("lossless: a ceiling")
    if not summary.complete:
        lines.append(
            f"incomplete: {count(summary.failed, 'clip')} failed"
            if summary.failed
            else "incomplete: clips or datasets missing"
        )
    elif estimate.failed:
        lines.append(f"without a value: {count(estimate.failed, 'clip')}")
    if row.apart:
        lines.append(f"outside the front: {chart_text(row.apart, 200)}")
    return "<br>".join(lines)


def _source(row: CodecResult) -> str:
    """Say on whose word a point stands; '' where nobody sends results."""
    return chart_text(row.source) if row.summary.clips else "published, not re-run here"


def _labelled(candidates: list[_Point], points: list[_Point], layout: dict[str, Any]) -> set[str]:
    """Name the codecs among the candidates whose label fits."""

    def position(rate: float, value: float) -> tuple[float, float]:
        (left, right), (bottom, top) = layout["xaxis"]["range"], layout["yaxis"]["range"]
        return (log10(rate) - left) / (right - left), (value - bottom) / (top - bottom)

    labels = [shortened(row.title, LABEL_LENGTH) for row, _ in candidates]
    obstacles = [position(row.place, end) for row, e in points for end in _ends(e)]
    fits = fitting_labels([position(row.place, _value(e)) for row, e in candidates], labels, obstacles)
    return {row.codec for (row, _), fit in zip(candidates, fits, strict=True) if fit}


def rate_axis(rates: list[float]) -> dict[str, Any]:
    """Make a logarithmic axis in kbps with a line at each power of two and a label where there is room."""
    low, high = (min(rates), max(rates)) if rates else (1.0, 100.0)
    start, end = log10(low) - 0.14, log10(high) + 0.1
    if floor(end / log10(2)) <= ceil(start / log10(2)):  # a single codec: without two labels there is no scale
        start = min(start, floor(log2(low)) * log10(2) - 0.02)
        end = max(end, (floor(log2(high)) + 1) * log10(2) + 0.02)
    powers = [power for power in range(-6, 20) if start <= power * log10(2) <= end]
    every = 2 if len(powers) > _MOST_TICK_LABELS else 1
    labels = [f"{2.0**power:g}" if power % every == 0 else "" for power in powers]
    axis = {"type": "log", "range": [start, end], "tickmode": "array", "tickvals": [2.0**p for p in powers]}
    return {**base_axis("Measured bitrate (kbps, logarithmic)"), **axis, "ticktext": labels}
