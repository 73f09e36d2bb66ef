"""Scores, metrics and applications against bitrate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from codec_superb.metrics.table import CATEGORIES, Category
from codec_superb.pipeline.literature.tables import TABLES, published_table
from codec_superb.server.charts.choices import chosen_among
from codec_superb.server.charts.rows import datasets_with, rows_of, source_choices, source_text
from codec_superb.server.leaderboard.select import quantity_of
from codec_superb.server.leaderboard.snapshot import Snapshot
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.figures.application import Ceiling, application_chart
from codec_superb.web.figures.board import board_chart
from codec_superb.web.quantity import SCORE_KEY, Quantity
from codec_superb.web.report_data import Estimate
from codec_superb.web.site.board import BoardRow, SourceFilter
from codec_superb.web.site.charts import ChartState, Column, Data, Drawn
from codec_superb.web.text import count

_CLASSIFIES_EVENTS = "aec_"


def rate(snapshot: Snapshot, state: ChartState) -> Drawn:
    """Draw a score or metric of a category, over all datasets or on one, against bitrate."""
    source = source_of(snapshot, state)
    dataset = chosen_among("dataset", state.dataset, ["", *datasets_with(snapshot, source, state.category)])
    frame = snapshot.frame(state.category, dataset, source)
    keys = [key for key in frame.quantities() if key not in APPLICATIONS] or [SCORE_KEY]
    quantity = quantity_of(chosen_among("metric", state.metric or keys[0], keys))
    rows = rows_of(frame)
    data, without = _data(rows, quantity)
    over = f"on {dataset}" if dataset else "over all datasets of each codec"
    caption = (
        f"{quantity.title} of {count(len(data.rows), 'codec')} in {state.category}, {over}, against bitrate on a "
        f"logarithmic axis. The dotted line is the Pareto front; up is better.{_left_out(without)} "
        f"{source_text(source)}"
    )
    resolved = replace(state, source=source, dataset=dataset, metric=quantity.key)
    return Drawn(resolved, f"{quantity.label} against bitrate", caption, board_chart(rows, quantity), data)


def applications(snapshot: Snapshot, state: ChartState) -> Drawn:
    """Draw an application's metric against bitrate, with what it reaches on the original sound."""
    key = chosen_among("application", state.application or next(iter(APPLICATIONS)), list(APPLICATIONS))
    source = application_source(snapshot, state, key)
    rows = _with_application(snapshot, source, key)
    quantity = APPLICATIONS[key]
    ceilings = _ceilings(rows, key)
    data, without = _data(rows, quantity)
    said = f" The dashed line is the original sound: {quantity.write(ceilings[0].value)}." if ceilings else ""
    caption = (
        f"{quantity.title} on the resyntheses of {count(len(data.rows), 'codec')}, against bitrate on a logarithmic "
        f"axis; up is better.{said}{_left_out(without)} {source_text(source)}"
    )
    resolved = replace(state, source=source, application=key)
    figure = application_chart(rows, quantity, ceilings)
    return Drawn(resolved, f"{quantity.label}, against bitrate", caption, figure, data)


def source_of(snapshot: Snapshot, state: ChartState) -> SourceFilter:
    """Return the chosen source, or the one that the leaderboard shows when nobody chooses."""
    return state.source or snapshot.default_source


def application_source(snapshot: Snapshot, state: ChartState, key: str) -> SourceFilter:
    """Return the chosen source, or the first that has the application: submissions before published tables."""
    if state.source:
        return state.source
    have = (source for source, _ in source_choices(snapshot) if _with_application(snapshot, source, key))
    return next(have, "table3")


def _with_application(snapshot: Snapshot, source: SourceFilter, key: str) -> list[BoardRow]:
    """Rows that have the application, with the bitrate on the category of sound that it listens to."""
    own: Category = "audio" if key.startswith(_CLASSIFIES_EVENTS) else "speech"
    rows: dict[str, BoardRow] = {}
    for category in (own, *(category for category in CATEGORIES if category != own)):
        for row in rows_of(snapshot.frame(category, "", source)):
            if key in row.applications:
                rows.setdefault(row.result.codec, row)
    return [rows[codec] for codec in sorted(rows)]


def _ceilings(rows: Sequence[BoardRow], key: str) -> list[Ceiling]:
    """Ceilings of the published tables that the rows come from."""
    named = {row.result.codec.partition(":")[0] for row in rows if row.source == "literature"}
    tables = [published_table(name) for name in TABLES if name in named]
    return [Ceiling(table.label, table.ceiling[key]) for table in tables if key in table.ceiling]


def value_of(row: BoardRow, quantity: Quantity) -> Estimate | None:
    """Return the value of a row, that of an application without an interval."""
    if quantity.key in APPLICATIONS:
        return Estimate(row.applications.get(quantity.key))
    return quantity.of(row.result)


def _data(rows: Sequence[BoardRow], quantity: Quantity) -> tuple[Data, int]:
    """Make the table, by bitrate; and count the codecs that have a value but no bitrate."""
    columns = [
        Column("codec", "Codec"),
        Column("family", "Family"),
        Column("source", "Source"),
        Column("kbps", "kbps", 2),
        Column(quantity.key, quantity.title, quantity.decimals),
        Column("low", "95 % from", quantity.decimals),
        Column("high", "to", quantity.decimals),
        Column("n", "Clips", 0),
    ]
    found, without = [], 0
    for row in rows:
        estimate = value_of(row, quantity)
        if estimate is None or estimate.value is None:
            continue
        if math.isnan(row.result.kbps):
            without += 1
            continue
        name = row.result.title if row.source == "literature" else row.result.codec
        values = (estimate.value, estimate.low, estimate.high, estimate.n or None)
        found.append((name, row.result.family, row.source_label, row.result.kbps, *values))
    return _without_empty(Data(columns, sorted(found, key=lambda cells: (cells[3], cells[0])))), without


def _without_empty(data: Data) -> Data:
    """Leave out the columns that no row has: published tables have no intervals and no counts of clips."""
    kept = [place for place in range(len(data.columns)) if any(row[place] is not None for row in data.rows)]
    return Data([data.columns[place] for place in kept], [[row[place] for place in kept] for row in data.rows])


def _left_out(without: int) -> str:
    if not without:
        return ""
    return f" {count(without, 'codec')} whose bitrate is not stated {'is' if without == 1 else 'are'} left out."
