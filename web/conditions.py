"""Results under conditions as charts and tables: score, PESQ and word errors against the strength, beside the clean."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from codec_superb.metrics.table import CATEGORIES, METRICS, Category
from codec_superb.web.applications import APPLICATION_METRICS
from codec_superb.web.comparable import WORD_ERRORS, comparable, measured, value_of, with_clean
from codec_superb.web.figures.conditions import Multiple, Series, Value, multiple
from codec_superb.web.quantity import SCORE, Quantity, from_metric
from codec_superb.web.rows import ApplicationRow, CodecResult, ConditionResult
from codec_superb.web.senders import sent
from codec_superb.web.text import count, interval
from codec_superb.web.theme import Style, family_styles

CLEAN = "clean"
_METRICS = ("pesq",)
_PLACES = ("sound", "payload", "chain")
FITTING = 40
"""Characters below a chart, were all columns as wide as the widest: seven usual strengths beside the clean value."""


@dataclass(frozen=True, slots=True)
class ConditionCell:
    """One quantity of one codec under one condition."""

    text: str
    small: str = ""


@dataclass(frozen=True, slots=True)
class ConditionLine:
    """One codec under one condition."""

    name: str
    condition: str
    cells: tuple[ConditionCell, ...]
    failed: str
    """Clips that failed, of how many; '' where none did."""
    source: str = ""
    """Who says so, and of how many clips where they are not all."""


@dataclass(frozen=True, slots=True)
class ConditionPart:
    """One kind of condition with one kind of reference."""

    key: str
    """Names it on the page."""
    title: str
    note: str
    """What is done, and what the metrics compare with."""
    charts: tuple[Multiple, ...]
    heads: tuple[str, ...]
    lines: tuple[ConditionLine, ...]


@dataclass(frozen=True, slots=True)
class ConditionCategory:
    """All kinds of conditions in one category."""

    category: Category
    parts: tuple[ConditionPart, ...]


def by_category(rows: Sequence[ConditionResult]) -> list[ConditionCategory]:
    """Arrange results of several categories, clean ones among them; a category without any condition is left out."""
    styles = family_styles(row.result.family for row in rows)
    found = []
    for category in CATEGORIES:
        its = [row for row in rows if row.result.summary.category == category]
        parts = condition_parts([row for row in its if not row.of.kind], [row for row in its if row.of.kind], styles)
        if parts:
            found.append(ConditionCategory(category, tuple(parts)))
    return found


def condition_parts(
    clean: Sequence[ConditionResult], rows: Sequence[ConditionResult], styles: Mapping[str, Style]
) -> list[ConditionPart]:
    """Arrange the results of one category: a part for each kind of condition, by where it acts.

    ``clean`` are the results without a condition of the same codecs, where there are any.
    """
    quantities = [its for its in _quantities() if any(value_of(row, its) for row in rows)]
    groups: dict[tuple[str, str], list[ConditionResult]] = {}
    for row in rows:
        groups.setdefault((row.of.kind, row.of.reference), []).append(row)
    order = sorted(groups, key=lambda group: (_PLACES.index(groups[group][0].of.place), group))
    return [_part(groups[group], clean, quantities, styles) for group in order]


def word_errors(row: CodecResult, applications: Sequence[ApplicationRow]) -> ApplicationRow | None:
    """Return the word error rate of a row; None where there is none, or several of different datasets or models."""
    found = [one for one in applications if one.numbers.figure == WORD_ERRORS]
    return found[0] if row.summary.category == "speech" and len(found) == 1 else None


def _part(
    rows: Sequence[ConditionResult], clean: Sequence[ConditionResult], quantities: Sequence[Quantity],
    styles: Mapping[str, Style],
) -> ConditionPart:  # fmt: skip
    first = rows[0].of
    taken = {its.key: comparable(rows, clean, its) for its in quantities}
    codecs = dict.fromkeys(row.result.codec for row in rows)
    beside = [row for row in clean if row.result.codec in codecs]
    # from weak to strong: the table of conditions says which way that is
    strengths = sorted({row.of.strength for row in rows}, reverse=not first.grows)
    fit = [row for its in taken.values() for row in its if row.of.kind]
    shown = _shown(fit)
    ends = [value for value in strengths if value in shown]
    columns = [CLEAN, *(f"{value:g}" for value in ends)] if first.axis else [CLEAN, first.label]
    colours = {family: style.colour_index for family, style in styles.items()}
    drawn = {its.key: _drawn(taken[its.key], shown) for its in quantities}
    charts = []
    for its in quantities:
        if on_it := drawn[its.key]:
            title, series = f"{first.label}: {its.title}", _series(on_it, its, ends)
            charts.append(multiple(title, first.axis, columns, series, its, _limits(on_it, its), colours))
    against = "compared with the sound that the codec was given" if first.reference == "input" else ""
    more = len({row.of.strength for row in fit}) - len(ends)
    others = f"{more} unusual strength{'s' * (more > 1)} in the numbers alone" if more else ""
    note = "; ".join(filter(None, (first.definition, against, *_told(rows, taken, drawn, quantities), others)))
    lines = [
        _line(row, quantities, taken)
        for codec in codecs
        for row in sorted(
            (row for row in [*beside, *rows] if row.result.codec == codec), key=lambda row: _column(row, strengths)
        )
    ]
    title = f"{first.label}{' (against the input)' if against else ''}"
    heads = tuple(f"{its.title} {'↑' if its.higher_is_better else '↓'}" for its in quantities)
    key = f"{first.kind}-{first.reference}".replace(":", "-")
    return ConditionPart(key, title, note, tuple(charts), heads, tuple(lines))


def _drawn(rows: Sequence[ConditionResult], strengths: Collection[float]) -> list[ConditionResult]:
    """Return what stands in a chart of ``strengths``: the clean results of no other codec."""
    damaged = [row for row in rows if row.of.kind and row.of.strength in strengths]
    return with_clean([row for row in rows if not row.of.kind], damaged)


def _told(
    rows: Sequence[ConditionResult], taken: Mapping[str, Sequence[ConditionResult]],
    drawn: Mapping[str, Sequence[ConditionResult]], quantities: Sequence[Quantity],
) -> list[str]:  # fmt: skip
    """Say on what the charts rest, by whom and by which model, and what the numbers alone hold."""
    titles: dict[str, list[str]] = {}
    for its in quantities:
        if taken[its.key]:
            titles.setdefault(measured(taken[its.key][0], its).words, []).append(its.label)
    # the clean value of a line may be another account's word
    said = ", ".join(sorted({row.source for its in drawn.values() for row in its} - {""}))
    apart = any(_apart(row, its, taken) for row in rows for its in quantities)
    own_word = any(row.word_errors and row.word_errors.run_again is False for row in drawn.get(WORD_ERRORS, ()))
    return [
        *(f"{' and '.join(names)} {words}" for words, names in titles.items()),
        "what was measured otherwise is in the numbers alone" if apart else "",
        said and f"results {said}",
        "word errors not run again where the numbers say so" if own_word else "",
    ]


def _apart(row: ConditionResult, quantity: Quantity, taken: Mapping[str, Sequence[ConditionResult]]) -> str:
    """Say why a value is not drawn: in what it differs from those of the chart; '' where it does not."""
    drawn = taken[quantity.key]
    if not drawn or value_of(row, quantity) is None:
        return ""
    why = measured(row, quantity).apart(measured(drawn[0], quantity))
    beside = [one for one in drawn if one.result.codec == row.result.codec]
    other = not row.of.kind and beside and all(one is not row for one in beside)
    return why or ("not known to be on the same clips" if other else "")


def _shown(rows: Sequence[ConditionResult]) -> set[float]:
    """Choose the strengths of a chart, as long as they fit below it without lying on each other.

    First the usual ones, then those of most senders, then those that are written short, then those of most codecs.
    """
    votes = {(row.of.strength, row.result.sender or f"codec:{row.result.codec}", row.result.codec) for row in rows}
    counts = sent((strength, sender) for strength, sender, _ in sorted(votes))
    usual = {row.of.strength for row in rows if row.of.usual}

    def place(value: float) -> tuple[bool, int, int, int, float]:
        own = counts[value]
        return value not in usual, -own.senders, len(f"{value:g}"), -own.found, value

    order = sorted(counts, key=place)
    found: dict[float, int] = {}
    for value in order:
        more = found | {value: len(f"{value:g}")}
        if not found or (1 + len(more)) * max(len(CLEAN), *more.values()) <= FITTING:
            found = more
    return set(found)


def _quantities() -> list[Quantity]:
    return [SCORE, *(from_metric(METRICS[key]) for key in _METRICS), APPLICATION_METRICS[WORD_ERRORS].quantity]


def _limits(rows: Sequence[ConditionResult], quantity: Quantity) -> tuple[float, float]:
    """Return the range of the values with their intervals, of which wide ones do not squeeze the values."""
    found = [value for row in rows if (value := value_of(row, quantity)) is not None]
    means = [value.mean for value in found if value.mean is not None]
    low, high = min(means), max(means)
    room = 0.5 * (high - low)
    ends = [end for value in found for end in (value.low, value.high) if end is not None]
    return min([low, *(max(end, low - room) for end in ends)]), max([high, *(min(end, high + room) for end in ends)])


def _column(row: ConditionResult, strengths: Sequence[float]) -> int:
    return 0 if not row.of.kind else 1 + list(strengths).index(row.of.strength)


def _series(rows: Sequence[ConditionResult], quantity: Quantity, strengths: Sequence[float]) -> list[Series]:
    found = []
    for codec in dict.fromkeys(row.result.codec for row in rows if row.of.kind):
        own = [row for row in rows if row.result.codec == codec]
        values = [
            Value(_column(row, strengths), estimate, row.result.summary.complete)
            for row in own
            if (estimate := value_of(row, quantity)) is not None
        ]
        ordered = sorted(values, key=lambda value: value.column)
        found.append(Series(codec, own[0].result.family, tuple(ordered)))
    return found


def _line(
    row: ConditionResult, quantities: Sequence[Quantity], taken: Mapping[str, Sequence[ConditionResult]]
) -> ConditionLine:
    cells = []
    for its in quantities:
        value = value_of(row, its)
        small = "" if value is None else interval(value.low, value.high, its.decimals)
        if value is not None and its.key == WORD_ERRORS and row.word_errors:
            small = f"{small} {row.word_errors.own_word}".strip()
        if why := _apart(row, its, taken):
            small = "; ".join(filter(None, (small, f"not drawn: {why}")))
        cells.append(ConditionCell(its.write(None if value is None else value.mean), small))
    summary = row.result.summary
    failed = f"{summary.failed} of {summary.clips}" if summary.failed else ""
    partial = "" if summary.complete else f"incomplete: {count(summary.ok, 'clip')}"
    said = ", ".join(filter(None, (row.source, partial)))
    return ConditionLine(row.result.codec, row.of.name or CLEAN, tuple(cells), failed, said)
