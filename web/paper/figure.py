"""Bitrate against the score or a metric, for a column of a paper: families, intervals, Pareto front.

Colours and shapes of families are those of the report and the site; line styles differ too, so that a print in grey can
be read. Lossless codecs are stars outside lines and front, open markers have failed clips, and markers with a ring
have a bitrate that nobody counted: they are not on the front either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil, floor, inf, log2, nan
from typing import Any

from codec_superb.metrics.results import Estimate
from codec_superb.web.errors import PaperError
from codec_superb.web.figures.family_line import family_line
from codec_superb.web.figures.pareto import contenders, measured_of, pareto_front, whole_of
from codec_superb.web.figures.remote import near_others
from codec_superb.web.paper.columns import Block
from codec_superb.web.paper.drawing import INCHES, LETTERS, Width, styled, written
from codec_superb.web.paper.table import heading
from codec_superb.web.quantity import Quantity
from codec_superb.web.rows import CodecResult
from codec_superb.web.text import kbps, shortened
from codec_superb.web.theme import LIGHT, Style, family_styles

_MARKERS = {
    "circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "triangle-down": "v", "cross": "P", "x": "X",
    "triangle-left": "<", "triangle-right": ">", "pentagon": "p", "hexagon": "h", "bowtie": "8", "hourglass": "d",
}  # fmt: skip
"""Plotly's names to matplotlib's, which has neither bowtie nor hourglass: an octagon and a thin diamond."""
_SIZES = {"D": 3.2, "s": 3.4, "P": 4.4, "X": 4.4, "p": 4.4, "h": 4.4, "d": 4.4}
_LINES = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1.2, 1, 1.2)))
"""Solid, dashed, dotted, dash-dotted."""
_PANEL = 2.1
"""Height of a panel in inches."""
_LEGEND_LINE = 0.135
_LETTER = 0.062
"""Width of a letter of the legend in inches; a key takes as much as six."""
_MOST_LABELS = 9
_CAPS = 1.3

_Point = tuple[CodecResult, Estimate]


def rate_figure(
    blocks: Sequence[Block], quantity: Quantity, width: Width, format_: str, *, intervals: bool = True
) -> bytes:
    """Draw a panel a block and one legend for all; ``format_`` is pdf, svg or png.

    Panels stand below each other in one column, and up to three beside each other over two. Raises PaperError where no
    codec has a value, and where matplotlib is missing.
    """
    near = _near(blocks, quantity)
    panels = [(block, points) for block in blocks if (points := _points(block.results, quantity, near))]
    if not panels:
        raise _nothing_drawn(blocks, quantity)
    families = sorted({row.family for _, points in panels for row, _ in points})
    # the styles of all codecs: a family keeps its colour whichever metric is drawn
    styles = family_styles(row.family for block in blocks for row in block.results)
    looks = _looks(families, styles)
    columns = 1 if width == "one" else min(3, len(panels))
    rows = ceil(len(panels) / columns)
    inches = INCHES[width]
    ringed = any(row.uncounted for _, points in panels for row, _ in points)
    names = [*families, _SHOWN[_FRONT], *([_SHOWN[_RINGED]] if ringed else [])]
    keys = max(1, min(len(names), floor(inches / (_LETTER * (6 + max(map(len, names)))))))
    legend = _LEGEND_LINE * ceil(len(names) / keys) + 0.1
    height = _PANEL * rows + legend
    with styled("A figure for a paper") as figure_class:
        figure = figure_class(figsize=(inches, height), layout="constrained")
        figure.get_layout_engine().set(rect=(0, legend / height, 1, 1 - legend / height), w_pad=0.02, h_pad=0.02)
        grid = figure.subplots(rows, columns, squeeze=False)
        places = [axes for line in grid for axes in line]
        for axes, (block, points) in zip(places, panels, strict=False):
            _panel(axes, points, quantity, looks, intervals=intervals)
            _rate_axis(axes, [row.kbps for _, of in panels for row, _ in of])
            if len(panels) > 1:
                axes.set_title(shortened(heading(block), 60 if columns == 1 else 36), loc="left", pad=3)
        for axes in places[len(panels) :]:
            axes.set_axis_off()
        for number, axes in enumerate(places[: len(panels)]):
            axes.set_xlabel("Bitrate (kbps)" if number + columns >= len(panels) else "")
            axes.set_ylabel(_value_title(quantity) if number % columns == 0 else "")
        handles = {
            label: handle for axes in places for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        order = sorted(handles, key=lambda label: (label in _SHOWN, label))
        figure.legend(
            [handles[label] for label in order], [_SHOWN.get(label, label) for label in order], loc="lower center",
            ncols=keys, frameon=False, handlelength=2.4, columnspacing=1.0, handletextpad=0.4, borderpad=0.1,
            labelspacing=0.25,
        )  # fmt: skip
        return written(figure, format_, f"Bitrate against {quantity.title}")


def left_out(blocks: Sequence[Block], quantity: Quantity) -> list[str]:
    """Name the codecs that have a value and no place on the axis of bitrates, each with the reason."""
    near = _near(blocks, quantity)
    rows = [row for block in blocks for row, _ in _known(block.results, quantity) if not _has_place(row, near)]
    return list(dict.fromkeys(f"{row.codec} ({_without_place(row)})" for row in rows))


def _near(blocks: Sequence[Block], quantity: Quantity) -> tuple[float, float]:
    """Return the lowest and the highest bitrate that leave each other room, over all panels."""
    rows = [row for block in blocks for row, _ in _known(block.results, quantity) if row.kbps > 0]
    inside = near_others([row.kbps for row in rows], [row.lossless for row in rows]) or [0.0]
    return inside[0], inside[-1]


def _has_place(row: CodecResult, near: tuple[float, float]) -> bool:
    return row.kbps > 0 and near[0] <= row.kbps <= near[1]


def _without_place(row: CodecResult) -> str:
    if row.kbps > 0:
        return f"at {kbps(row.kbps)} kbps it is far from all others"
    if row.summary.kbps is None:
        return row.uncounted or "it has no bitrate"
    return f"a logarithmic axis has no place for {kbps(row.kbps)} kbps"


def _nothing_drawn(blocks: Sequence[Block], quantity: Quantity) -> PaperError:
    """Say why no codec can be drawn: bitrates, values that are undefined, or none at all."""
    reasons = ", ".join(left_out(blocks, quantity))
    if not reasons and any(quantity.of(row) is not None for block in blocks for row in block.results):
        reasons = "it is undefined on every clip"
    return PaperError(
        f"expected a codec with a bitrate and a value of {quantity.key}, got none: "
        f"{reasons or 'score the runs with it'}"
    )


_FRONT, _RINGED = "\uffff", "\uffff\uffff"
"""Labels of the front and of rings among those of families, which cannot be these."""
_SHOWN = {_FRONT: "Pareto front", _RINGED: "Bitrate declared"}


def _points(results: Sequence[CodecResult], quantity: Quantity, near: tuple[float, float] = (0.0, inf)) -> list[_Point]:
    return [(row, found) for row, found in _known(results, quantity) if _has_place(row, near)]


def _known(results: Sequence[CodecResult], quantity: Quantity) -> list[_Point]:
    pairs = ((row, quantity.of(row)) for row in results)
    return [(row, found) for row, found in pairs if found is not None and found.mean is not None]


@dataclass(frozen=True, slots=True)
class _Look:
    """How a family is drawn by matplotlib."""

    colour: str
    marker: str
    line: Any


def _looks(families: Sequence[str], styles: Mapping[str, Style]) -> dict[str, _Look]:
    """Take over colours and shapes of the page; a shape that another family has already is replaced.

    Points without a line must differ without their colour.
    """
    markers: dict[str, str] = {}
    for family in families:
        marker = _MARKERS.get(styles[family].symbol, "o")
        if marker not in markers.values():
            markers[family] = marker
    free = [marker for marker in _MARKERS.values() if marker not in markers.values()] or list(_MARKERS.values())
    others = [family for family in families if family not in markers]
    markers |= {family: free[n % len(free)] for n, family in enumerate(others)}
    return {
        family: _Look(styles[family].colour, markers[family], _LINES[styles[family].colour_index % len(_LINES)])
        for family in families
    }


def _panel(
    axes: Any, points: Sequence[_Point], quantity: Quantity, looks: Mapping[str, _Look], *, intervals: bool
) -> None:
    axes.set_xscale("log", base=2)
    axes.grid(visible=True, which="major", color=LIGHT.line, linewidth=0.5)
    axes.set_axisbelow(True)
    lossy = [point for point in points if not point[0].lossless]
    rows = [row for row, _ in lossy]
    measured = [measured_of(row, quantity.key) for row in rows]
    in_front = contenders([not row.uncounted for row in rows], whole_of(lossy), measured)
    _draw_front(axes, [lossy[place] for place in in_front], quantity)
    order = sorted(points, key=lambda point: (point[0].family, point[0].lossless, point[0].kbps))
    for family, members in groupby(order, key=lambda point: point[0].family):
        _draw_family(axes, list(members), quantity, looks[family], intervals=intervals)
    ringed = [(row.kbps, _mean(found)) for row, found in points if row.uncounted]
    if ringed:
        axes.plot(
            *zip(*ringed, strict=True), color=LIGHT.ink, linestyle="none", marker="o", ms=7.5, markerfacecolor="none",
            markeredgewidth=0.6, zorder=5, label=_RINGED,
        )  # fmt: skip
    if not quantity.higher_is_better:
        axes.invert_yaxis()


def _value_title(quantity: Quantity) -> str:
    return quantity.title if quantity.higher_is_better else f"{quantity.title} (axis reversed)"


def _draw_front(axes: Any, lossy: Sequence[_Point], quantity: Quantity) -> None:
    """Draw the front of codecs whose bits were counted."""
    values = [_mean(found) for _, found in lossy]
    front = pareto_front([row.kbps for row, _ in lossy], values, higher_is_better=quantity.higher_is_better)
    if front:
        # the best value at a bitrate or less is constant until the next codec, or the last one: a step, no slope
        rates = [*(lossy[n][0].kbps for n in front), max(row.kbps for row, _ in lossy)]
        axes.step(
            rates, [values[n] for n in (*front, front[-1])], where="post", color=LIGHT.soft,
            linewidth=3.2, solid_capstyle="butt", zorder=1, label=_FRONT,
        )  # fmt: skip


def _draw_family(axes: Any, members: Sequence[_Point], quantity: Quantity, look: _Look, *, intervals: bool) -> None:
    """Draw a line with its points and their intervals, and ceilings as stars."""
    marker = look.marker
    label = members[0][0].family
    for lossless in (False, True):
        chosen = [point for point in members if point[0].lossless == lossless]
        if not chosen:
            continue
        shape = {"marker": "*", "ms": 6.0} if lossless else {"marker": marker, "ms": _SIZES.get(marker, 3.8)}
        rates, values = [row.kbps for row, _ in chosen], [_mean(found) for _, found in chosen]
        if intervals:
            axes.errorbar(
                rates, values, yerr=_arms(chosen), fmt="none", ecolor=look.colour, elinewidth=0.7, capsize=_CAPS,
                capthick=0.7, zorder=2,
            )  # fmt: skip
        joined = family_line(rates, values, higher_is_better=quantity.higher_is_better)
        places = [(rates[n], values[n]) for n in joined]
        for n in range(len(chosen)):
            if n not in joined:  # a point without a value ends the line
                places += [(nan, nan), (rates[n], values[n])]
        axes.plot(
            *zip(*places, strict=True), color=look.colour, linestyle="none" if lossless else look.line, linewidth=0.9,
            **shape, markeredgewidth=0.7, zorder=3, label=label,
        )  # fmt: skip
        partial = [(row.kbps, _mean(found)) for row, found in chosen if row.summary.failed]
        if partial:
            axes.plot(
                *zip(*partial, strict=True), color=look.colour, linestyle="none", **shape, markeredgewidth=0.7,
                markerfacecolor="white", zorder=4,
            )  # fmt: skip


def _mean(found: Estimate) -> float:
    assert found.mean is not None  # _points keeps no other
    return found.mean


def _arms(points: Sequence[_Point]) -> list[list[float]]:
    down = [0.0 if found.low is None else max(0.0, _mean(found) - found.low) for _, found in points]
    up = [0.0 if found.high is None else max(0.0, found.high - _mean(found)) for _, found in points]
    return [down, up]


def _rate_axis(axes: Any, rates: Sequence[float]) -> None:
    """Make a tick at each power of two, with a label at as many as there is room for."""
    low, high = min(rates) / 1.3, max(rates) * 1.3
    if floor(log2(high)) <= ceil(log2(low)):  # without two ticks there is no scale
        low, high = 2.0 ** floor(log2(low)), 2.0 ** ceil(log2(high))
    axes.set_xlim(low, high)
    powers = range(ceil(log2(low)), floor(log2(high)) + 1)
    every = ceil(len(powers) / _MOST_LABELS)
    axes.set_xticks([2.0**power for power in powers], [f"{2.0**p:g}" if p % every == 0 else "" for p in powers])
    axes.minorticks_off()
    axes.tick_params(labelsize=LETTERS)
