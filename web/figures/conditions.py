"""Small charts of a quantity against the strength of a condition: one a kind, the clean value at the left end.

They are drawn as SVG by the template, without a script: few points, which a table repeats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from codec_superb.metrics.results import Estimate
from codec_superb.web.quantity import Quantity
from codec_superb.web.text import interval, shortened

WIDTH, HEIGHT = 420.0, 250.0
"""Usual size; charts of more than 14 codecs are higher, so that each name has its line."""
LEFT, RIGHT, TOP, BOTTOM = 46.0, 122.0, 12.0, 40.0
"""Margins: numbers at the left, names of codecs at the right, strengths below."""
_LINE = 14.0
_LABEL = 15
_DASHES = ("", "6 3", "2 3", "8 3 2 3")


@dataclass(frozen=True, slots=True)
class Value:
    """One codec's value at one strength."""

    column: int
    """0 is clean, then by strength, weak to strong."""
    estimate: Estimate
    complete: bool


@dataclass(frozen=True, slots=True)
class Series:
    """One codec over the strengths of a kind of condition."""

    name: str
    family: str
    values: tuple[Value, ...]
    """By column."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A value with its interval, in pixels."""

    x: float
    y: float
    top: float | None
    bottom: float | None
    title: str
    complete: bool


@dataclass(frozen=True, slots=True)
class Line:
    """One codec, in pixels."""

    name: str
    colour_index: int
    dash: str
    points: str
    marks: tuple[Mark, ...]
    label_y: float


@dataclass(frozen=True, slots=True)
class Multiple:
    """One chart, in pixels."""

    title: str
    quantity: str
    axis: str
    columns: tuple[tuple[float, str], ...]
    ticks: tuple[tuple[float, str], ...]
    lines: tuple[Line, ...]
    height: float

    width = WIDTH
    left = LEFT
    right = WIDTH - RIGHT
    top = TOP

    @property
    def bottom(self) -> float:
        """Lower edge of the plot."""
        return self.height - BOTTOM


def multiple(
    title: str, axis: str, columns: Sequence[str], series: Sequence[Series], quantity: Quantity,
    limits: tuple[float, float], colours: Mapping[str, int],
) -> Multiple:  # fmt: skip
    """Draw one kind of condition; up is always better.

    ``columns`` are the strengths as written, clean first; ``limits`` the least and the largest value;
    ``colours`` the number of each family's colour.
    """
    step = (WIDTH - LEFT - RIGHT) / max(1, len(columns))
    xs = [LEFT + step * (column + 0.5) for column in range(len(columns))]
    low, high = _widened(limits, quantity.decimals)
    height = max(HEIGHT, TOP + BOTTOM + _LINE * len(series))

    def y_of(value: float) -> float:
        share = (value - low) / (high - low)
        return round(TOP + (height - TOP - BOTTOM) * (1 - share if quantity.higher_is_better else share), 1)

    def mark(name: str, value: Value, shift: float) -> Mark:
        estimate = value.estimate
        mean = estimate.mean or 0.0
        ends = [None if end is None else y_of(min(max(end, low), high)) for end in (estimate.low, estimate.high)]
        told = interval(estimate.low, estimate.high, quantity.decimals)
        says = f"{name}, {columns[value.column]}: {quantity.write(mean)} {told}".rstrip()
        return Mark(round(xs[value.column] + shift, 1), y_of(mean), ends[1], ends[0], says, value.complete)

    lines = []
    seen: dict[str, int] = {}
    shifts = _shifts(len(series), step)
    for one, shift in zip(series, shifts, strict=True):
        marks = tuple(mark(one.name, value, shift) for value in one.values)
        number = seen[one.family] = seen.get(one.family, -1) + 1
        points = " ".join(f"{each.x},{each.y}" for each in marks)
        dash = _DASHES[number % len(_DASHES)]
        lines.append(Line(shortened(one.name, _LABEL), colours[one.family], dash, points, marks, marks[-1].y))
    ticks = tuple((y_of(value), quantity.write(value)) for value in _ticks(low, high, quantity.decimals))
    placed = tuple((round(x, 1), text) for x, text in zip(xs, columns, strict=True))
    return Multiple(title, quantity.axis_title, axis, placed, ticks, _apart(lines, height - BOTTOM), height)


def _shifts(count: int, step: float) -> list[float]:
    """Move codecs a little sideways, so that their bars do not cover each other."""
    room = min(4.0, 0.5 * step / max(1, count))
    return [round(room * (place - (count - 1) / 2), 1) for place in range(count)]


def _widened(limits: tuple[float, float], decimals: int) -> tuple[float, float]:
    """Give room on both sides, and enough for three ticks that are written differently."""
    low, high = limits
    half = 0.56 * max((high - low) or max(abs(high), 1.0) * 0.1, 3 / 10**decimals)
    return (low + high) / 2 - half, (low + high) / 2 + half


def _ticks(low: float, high: float, decimals: int) -> list[float]:
    """Choose four to eight round numbers in the range, fewer where more would be written alike."""
    raw = max((high - low) / 5, 1 / 10**decimals)
    scale = 10.0 ** (len(f"{raw:.0f}") - 1)
    while scale > raw:
        scale /= 10
    step = next(scale * factor for factor in (1, 2, 5, 10) if scale * factor >= raw * (1 - 1e-9))
    first = -int(-low // step)
    return [round(step * number, 10) for number in range(first, int(high // step) + 1)]


def _apart(lines: Sequence[Line], bottom: float) -> tuple[Line, ...]:
    """Move the names at the right ends apart where they would cover each other, within the chart."""
    order = sorted(range(len(lines)), key=lambda index: lines[index].label_y)
    places: list[float] = []
    for index in order:
        places.append(max([lines[index].label_y, *(place + _LINE for place in places[-1:])]))
    if places and places[-1] > bottom:  # push back upwards from the lower edge
        places[-1] = bottom
        for at in range(len(places) - 2, -1, -1):
            places[at] = min(places[at], places[at + 1] - _LINE)
    moved = dict(zip(order, places, strict=True))
    return tuple(replace(line, label_y=round(moved[index], 1)) for index, line in enumerate(lines))
