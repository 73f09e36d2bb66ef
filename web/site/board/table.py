"""The table of the leaderboard: the report's columns and those of the leaderboard alone, sorted by links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import isclose, isnan

from markupsafe import Markup

from codec_superb.metrics.table import METRICS, Category
from codec_superb.web.application_rows import at_rates_of
from codec_superb.web.applications import APPLICATION_METRICS, APPLICATIONS
from codec_superb.web.figures.board import application_value
from codec_superb.web.quantity import SCORE, Quantity, from_metric
from codec_superb.web.report.application_details import signed
from codec_superb.web.report.columns import (
    Badge,
    RankingCell,
    RankingColumn,
    codec_column,
    estimate_cell,
    rate_note,
    value_columns,
)
from codec_superb.web.rows import ApplicationRow, BoardRow, figure_label
from codec_superb.web.site.board.address import Addresses
from codec_superb.web.site.board.card_columns import card_columns
from codec_superb.web.site.board.choices import CHOOSABLE, BoardView
from codec_superb.web.site.board.columns import places
from codec_superb.web.site.board.rows import RANK, Fill, assemble_row, write_row
from codec_superb.web.text import MISSING, codec_address, count, hertz, interval, kbps

_SAME_RATE = 0.005
"""Share by which a figure's bitrate may differ from that of the row's category without being said."""
_SORTS = {
    "tps": "tokens_per_second",
    "ratio": "compression_ratio",
    "encode": "encode_rtf",
    "decode": "decode_rtf",
    "clipped": "clipped_samples",
}
"""Columns whose name in an address differs from that in the report."""
_UNSORTED = {"rank", "encode_flops", "decode_flops", "licence", "paper"}
_SPEED = "Seconds of computing per second of audio (real-time factor), on the machine of the submitter."
_EXPLANATIONS = {
    "kbps": "Measured bitrate: all payload bits over all seconds, without container. Small: what the codec was set to. "
    "Figures of papers are nominal.",
    "rank": "Best and worst rank that the 95 % intervals allow, among codecs with results on the same datasets.",
    "clips": "Clips that came back. Small: datasets, and clips that failed or on which a metric is undefined.",
    "encode": _SPEED,
    "decode": _SPEED,
}


@dataclass(frozen=True, slots=True)
class Heading:
    """A column's heading as a link that sorts by it."""

    key: str
    """The column's; the link has it as its id, since the place depends on what is sorted by and the focus stays."""
    label: str
    unit: str
    explanation: str
    url: str
    """'' where nothing can be sorted."""
    order: str
    """``ascending`` or ``descending`` where the table is sorted by it."""
    mark: str
    """Class of its cells, see :class:`~codec_superb.web.site.board.columns.Place`."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One column that can be chosen."""

    key: str
    label: str
    explanation: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class BoardTable:
    """Headings and rows; columns that no row fills are left out, unless they are chosen."""

    headings: tuple[Heading, ...]
    lines: tuple[Markup, ...]
    choices: tuple[Choice, ...]


def quantity_of(key: str) -> Quantity:
    """Return the quantity of a key of the leaderboard. Raises KeyError for an unknown one."""
    return quantities()[key]


@cache
def quantities() -> dict[str, Quantity]:
    """Everything that can be shown and sorted by: overall score, metrics, applications."""
    metrics = {key: from_metric(metric) for key, metric in METRICS.items()}
    return {SCORE.key: SCORE, **metrics, **APPLICATIONS}


def board_table(view: BoardView, addresses: Addresses, *, local: bool = False) -> BoardTable:
    """Make the table of one page of the leaderboard; that of ``local`` runs says of none who reports it."""
    name, fill_name = codec_column(), _local_name_cell if local else _name_cell
    columns = _columns(view)
    rows = [write_row(row, fill_name, codec_address(row.result.codec), columns) for row in view.rows]
    ranks = [_rank_cell(row) for row in view.rows]
    filled = frozenset({RANK} if any(cell.sort for cell in ranks) else ()).union(*(row.filled for row in rows))
    known = {column.key: column for column, _ in columns}
    kept = [place for place in places(view.state, filled) if place.key in known]
    headings = [_heading(known[place.key], view, addresses, place.mark) for place in kept]
    return BoardTable(
        headings=(_heading(name, view, addresses), *headings),
        lines=tuple(assemble_row(row, rank, kept, view.state.metric) for row, rank in zip(rows, ranks, strict=True)),
        choices=tuple(
            Choice(key, known[key].label, known[key].explanation, key in view.state.columns)
            for key in CHOOSABLE
            if key in known and (key in filled or key in view.state.columns)
        ),
    )


def _columns(view: BoardView) -> list[tuple[RankingColumn, Fill]]:
    keys = [key for key in view.choices.metrics if key != SCORE.key]
    metrics = [quantity_of(key) for key in keys if key in METRICS]
    special: dict[str, Fill] = {
        "kbps": _rate_cell, "rank": _rank_cell, "clips": _clips_cell, "clipped": _clipped_cell,
    }  # fmt: skip
    explanations = {**_EXPLANATIONS, **_definitions(view.state.category)}
    columns: list[tuple[RankingColumn, Fill]] = []
    for column in value_columns(metrics, explanations):
        if column.key == "tps":
            columns += [_application_column(APPLICATIONS[key]) for key in keys if key in APPLICATIONS]
        key = _SORTS.get(column.key, column.key)
        columns.append((replace(column, key=key), special.get(column.key) or _of_result(column)))
    return [*columns, _sampling_rate_column(), *card_columns(), _date_column()]


@cache
def _definitions(category: Category) -> dict[str, str]:
    parts = ", ".join(metric.label for metric in METRICS.values() if category in metric.overall)
    score = f"Overall score from 0 to 1: harmonic mean of {parts}, each brought to 0–1."
    return {SCORE.key: score, **{key: metric.definition for key, metric in METRICS.items()}}


def _of_result(column: RankingColumn) -> Fill:
    return lambda row: column.fill(row.result)


def _application_column(quantity: Quantity) -> tuple[RankingColumn, Fill]:
    def fill(row: BoardRow) -> RankingCell:
        found = row.applications.get(quantity.key)
        if found is None:
            return RankingCell(MISSING, title="not computed")
        told = [found.own_word] if found.own_word else []
        at = at_rates_of(found, row.result).kbps
        told += [] if isnan(at) or isclose(at, row.result.kbps, rel_tol=_SAME_RATE) else [f"at {kbps(at)} kbps"]
        small = "; ".join((found.model.backend, *told))
        return replace(estimate_cell(found.value, quantity), small=small, title=_behind(found, quantity))

    arrow = "↑" if quantity.higher_is_better else "↓"
    figure = APPLICATION_METRICS[quantity.key].figure
    text = f"{figure.definition} Small: the model that answered; only what one model answered is ranked together."
    best = "descending" if quantity.higher_is_better else "ascending"
    unit = f"{quantity.unit} {arrow}".strip()
    return RankingColumn(quantity.key, quantity.label, text, best, lambda _: RankingCell(""), unit=unit), fill  # type: ignore[arg-type]


def _behind(found: ApplicationRow, quantity: Quantity) -> str:
    """Describe the counts and model behind an application metric; papers do not state them."""
    parts, numbers = [found.model.name], found.numbers
    ends = interval(numbers.resynthesis.low, numbers.resynthesis.high, quantity.decimals)
    parts += [f"95 % interval {ends}"] if ends else []
    if numbers.reference.value is not None:
        parts += [f"original sound {quantity.write(numbers.reference.value)}", f"loss {signed(numbers.loss, quantity)}"]
    counts = ((numbers.n, "clips"), (numbers.left_out, "left out"), (numbers.failed, "failed"))
    parts += [f"{n} {what}" for n, what in counts if n]
    parts += [f"on {numbers.dataset}"] if numbers.dataset else []
    return ", ".join(parts)


def _sampling_rate_column() -> tuple[RankingColumn, Fill]:
    def fill(row: BoardRow) -> RankingCell:
        return RankingCell(hertz(row.sampling_rate), sort=str(row.sampling_rate or ""))

    text = "Sampling rate at which the codec works."
    return RankingColumn("sampling_rate", "Rate", text, "descending", lambda _: RankingCell("")), fill


def _date_column() -> tuple[RankingColumn, Fill]:
    def fill(row: BoardRow) -> RankingCell:
        return RankingCell(row.received or MISSING, sort=row.received or "")

    text = "Day on which the submission came."
    return RankingColumn("received", "Received", text, "descending", lambda _: RankingCell("")), fill


def _name_cell(row: BoardRow) -> RankingCell:
    cell = codec_column().fill(row.result)
    badges = [_renamed(badge) for badge in cell.badges]
    if row.source == "verified":
        badges.insert(
            0,
            Badge(
                "verified",
                "The maintainers ran it again and got these numbers, but for times and counted operations, which are "
                "its submitter's.",
            ),
        )
    if row.source == "self-reported":
        badges.insert(0, Badge("self-reported", "Recomputed here from its clips; run by its submitter alone."))
    if row.source == "published":
        badges.insert(0, Badge("published", f"{row.source_label}: published, not re-run here."))
    parts = [row.result.family] if row.source == "published" else [cell.small, row.submitter and f"by {row.submitter}"]
    parts += [f"published: {figure}" for figure in row.also]
    return RankingCell(cell.text, " · ".join(part for part in parts if part), cell.sort, badges=tuple(badges))


def _local_name_cell(row: BoardRow) -> RankingCell:
    cell = _name_cell(row)
    return replace(cell, badges=tuple(badge for badge in cell.badges if badge.text != "self-reported"))


def _renamed(badge: Badge) -> Badge:
    return Badge("partial", badge.explanation, badge.warning) if badge.text == "incomplete" else badge


def _rate_cell(row: BoardRow) -> RankingCell:
    result = row.result
    if result.kbps != result.kbps:  # NaN: no clip was resynthesised, or the source does not state it
        return RankingCell(MISSING, result.rate_mark)
    small = "nominal" if row.source == "published" else rate_note(result)
    return RankingCell(kbps(result.kbps), small, repr(result.kbps))


def _rank_cell(row: BoardRow) -> RankingCell:
    if row.result.rank is None:
        return RankingCell(MISSING, title=row.unranked)
    best, worst = row.result.rank
    return RankingCell(str(best) if best == worst else f"{best}–{worst}", sort=str(best))


def _clips_cell(row: BoardRow) -> RankingCell:
    summary = row.result.summary
    if not summary.clips:
        return RankingCell(MISSING, title="The source does not say.")
    marks = [count(len(summary.datasets), "dataset")]
    marks += [f"{n} {what}" for n, what in ((summary.failed, "failed"), (row.undefined, "undefined")) if n]
    return RankingCell(f"{summary.ok:,}", ", ".join(marks), str(summary.ok), title=", ".join(summary.datasets))


def _clipped_cell(row: BoardRow) -> RankingCell:
    """Make the cell of clipped samples; a dash where no clip was run."""
    summary = row.result.summary
    if not summary.clips:
        return RankingCell(MISSING)
    return RankingCell(f"{summary.clipped_samples:,}", sort=str(summary.clipped_samples))


def _heading(column: RankingColumn, view: BoardView, addresses: Addresses, mark: str = "") -> Heading:
    key, state = column.key, view.state
    current = (state.sort or state.metric) == key
    natural = column.best == "descending"
    descending = natural if state.descending is None else state.descending
    url = ""
    if column.key not in _UNSORTED:
        sort = "" if key == state.metric else key
        turned = None if not current or descending != natural else not descending
        url = addresses.to(sort=sort, descending=turned)
    return Heading(
        key=key,
        label=column.label,
        unit=column.unit,
        explanation=column.explanation,
        url=url,
        order=("descending" if descending else "ascending") if current else "",
        mark=mark,
    )


def in_words(rows: Sequence[BoardRow], quantity: Quantity) -> list[tuple[BoardRow, str, str]]:
    """Describe the chart in text for screen readers: each codec with its bitrate and value, and on whose word it is."""
    return [(row, _place(row, quantity), _said_by(row, quantity.key)) for row in rows]


def _said_by(row: BoardRow, key: str) -> str:
    asked = [row.applications[key]] if key in row.applications else []
    return "published" if row.source == "published" else figure_label(row.source_label, *asked)


def value_of(row: BoardRow, quantity: Quantity) -> float | None:
    """Return the value of a score, metric or application; None where the codec has none."""
    return (quantity.of(row.result) or application_value(row, quantity.key)).mean


def _place(row: BoardRow, quantity: Quantity) -> str:
    unit = f" {quantity.unit}" if quantity.unit else ""
    return f"{kbps(row.result.kbps)} kbps, {quantity.write(value_of(row, quantity))}{unit}"
