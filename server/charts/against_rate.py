"""Scores, metrics and applications against bitrate."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from codec_superb.metrics.results import Estimate
from codec_superb.metrics.table import CATEGORIES, Category
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.charts.choices import checked_choice
from codec_superb.server.charts.rows import (
    datasets_with,
    on_usual_states,
    rows_of,
    source_choices,
    source_text,
)
from codec_superb.server.leaderboard.originals import with_apart
from codec_superb.server.leaderboard.select import quantity_of, rank
from codec_superb.web.answered import OTHERWISE, answer_of, beside_front, front_answer, model_labels
from codec_superb.web.application_rows import APART, at_rates_behind, original_of
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.figures.across import placed
from codec_superb.web.figures.application import Ceiling, application_chart
from codec_superb.web.figures.board import application_value, board_chart
from codec_superb.web.figures.rate import front_notes, rate_notes, some_of
from codec_superb.web.quantity import SCORE_KEY, Quantity
from codec_superb.web.rows import BoardRow, figure_label
from codec_superb.web.site.board.choices import BoardState, SourceFilter
from codec_superb.web.site.charts.choices import ChartData, ChartState, DataColumn, DrawnChart
from codec_superb.web.text import count

_CLASSIFIES_EVENTS = "aec_"
_AXIS = {"": "bitrate", "tokens": "tokens a second"}


def rate(snapshot: Snapshot, state: ChartState) -> DrawnChart:
    """Draw a score or metric of a category, over all datasets or on one, against bitrate."""
    source = source_of(snapshot, state)
    dataset = checked_choice("dataset", state.dataset, ["", *datasets_with(snapshot, source, state.category)])
    frame = snapshot.frame(state.category, dataset, source)
    keys = [key for key in frame.quantities() if key not in APPLICATIONS] or [SCORE_KEY]
    quantity = quantity_of(checked_choice("metric", state.metric or keys[0], keys))
    chosen = BoardState(category=state.category, metric=quantity.key, source=source, dataset=dataset)
    rows = rows_of(rank(snapshot, chosen))
    data, without = _data(rows, quantity, state.across)
    over = f"on {dataset}" if dataset else "over all datasets of each codec"
    outside = front_notes([placed(row.result, state.across) for row in rows], quantity)
    caption = (
        f"{quantity.title} of {count(len(data.rows), 'codec')} in {state.category}, {over}, against "
        f"{_AXIS[state.across]} on a logarithmic axis. The dotted line is the Pareto front; up is better."
        f"{outside}{_declared(rows)}{_left_out(without, state.across)} {source_text(source)}"
    )
    resolved = replace(state, source=source, dataset=dataset, metric=quantity.key)
    title = f"{quantity.label} against {_AXIS[state.across]}"
    return DrawnChart(resolved, title, caption, board_chart(rows, quantity, state.across), data)


def applications(snapshot: Snapshot, state: ChartState) -> DrawnChart:
    """Draw an application metric against bitrate, with its value on the original sound."""
    key = checked_choice("application", state.application or next(iter(APPLICATIONS)), list(APPLICATIONS))
    source = application_source(snapshot, state, key)
    dataset = checked_choice("dataset", state.dataset, ["", *snapshot.datasets(source)])
    found = with_application(snapshot, source, key, dataset)
    rows = [at_rates_behind(row, key) for row in beside_front(with_apart(on_usual_states(found, key), key), key)]
    quantity = APPLICATIONS[key]
    ceilings = _ceilings(rows, key)
    data, without = _data(rows, quantity, state.across)
    caption = (
        f"{quantity.title} on the resyntheses of {count(len(data.rows), 'codec')}{_on(rows, key, dataset)}, against "
        f"{_AXIS[state.across]} on a logarithmic axis; up is better.{_said(rows, ceilings, quantity)}{_declared(rows)}"
        f"{_left_out(without, state.across)}{_elsewhere(found, rows)}{_apart(rows)} {source_text(source)}"
    )
    resolved = replace(state, source=source, application=key, dataset=dataset)
    figure = application_chart(rows, quantity, ceilings, state.across)
    return DrawnChart(resolved, f"{quantity.label}, against {_AXIS[state.across]}", caption, figure, data)


def _elsewhere(found: Sequence[BoardRow], drawn: Sequence[BoardRow]) -> str:
    """Name what is not drawn since the dataset was another one under the same name."""
    shown = {row.result.codec for row in drawn}
    others = [row.result.title for row in found if row.result.codec not in shown]
    return f" Not drawn, since run on another state of the dataset than most: {some_of(others)}." if others else ""


def _apart(rows: Sequence[BoardRow]) -> str:
    titles = sorted(row.result.title for row in rows if row.result.apart == APART)
    others = sorted(row.result.title for row in rows if row.result.apart not in {"", APART})
    said = f" Outside the front, since {OTHERWISE}: {some_of(others)}." if others else ""
    return said + (f" Outside the front, since {APART}: {some_of(titles)}." if titles else "")


def source_of(snapshot: Snapshot, state: ChartState) -> SourceFilter:
    """Return the chosen source, or the leaderboard's default."""
    return state.source or snapshot.default_source(state.category)


def application_source(snapshot: Snapshot, state: ChartState, key: str) -> SourceFilter:
    """Return the chosen source, or the first that has the application: what the board shows before published tables."""
    if state.source:
        return state.source
    usual = snapshot.usual_source(lambda entry: key in entry.applications.get(state.dataset, {}))
    have = (
        source
        for source in (usual, *(each for each, _ in source_choices(snapshot)))
        if with_application(snapshot, source, key, state.dataset)
    )
    return next(have, "table3")


def with_application(snapshot: Snapshot, source: SourceFilter, key: str, dataset: str) -> list[BoardRow]:
    """Rows that have the application on a dataset, with the bitrate on the category of sound that it listens to."""
    own: Category = "audio" if key.startswith(_CLASSIFIES_EVENTS) else "speech"
    rows: dict[str, BoardRow] = {}
    for category in (own, *(category for category in CATEGORIES if category != own)):
        chosen = BoardState(category=category, metric=key, source=source, dataset=dataset)
        for row in rows_of(rank(snapshot, chosen)):
            if key in row.applications:
                rows.setdefault(row.result.codec, row)
    return [rows[codec] for codec in sorted(rows)]


def _ceilings(rows: Sequence[BoardRow], key: str) -> list[Ceiling]:
    """Find the value on the original sound that most senders have by the model of the front; others say theirs."""
    front = front_answer(rows, key)
    its = [row for row in rows if answer_of(row, key) == front]
    row = original_of((each.applications[key], each.result.sender) for each in its)
    if row is None or row.numbers.reference.value is None:
        return []
    labels = model_labels(each.applications[key].model for each in rows)
    return [Ceiling(labels[row.model], row.numbers.reference.value)]


def _on(rows: Sequence[BoardRow], key: str, dataset: str) -> str:
    """Say on which datasets the figures are, that of most codecs first; '' where that is not known."""
    codecs = Counter([row.applications[key].numbers.dataset for row in rows] or [dataset])
    names = [name or "several together" for name, _ in codecs.most_common()]
    if len(names) > 1:
        return f" on different datasets ({some_of(names)}; the table says which)"
    return f" on {names[0]}" if any(codecs) else ""


def _said(rows: Sequence[BoardRow], ceilings: Sequence[Ceiling], quantity: Quantity) -> str:
    """Describe the dashed line, and of several models or datasets whose the front is."""
    line = f" The dashed line is the original sound: {quantity.write(ceilings[0].value)}." if ceilings else ""
    front = front_answer(rows, quantity.key)
    if front is None or len({answer_of(row, quantity.key) for row in rows}) == 1:
        return line
    label = model_labels(row.applications[quantity.key].model for row in rows)[front.model]
    on = f" on {some_of(front.datasets)}" if any(front.datasets) else ""
    return (
        f"{line} Values of different models or datasets are drawn together and compared nowhere: front and original "
        f"sound are those of {label}{on}."
    )


def value_of(row: BoardRow, quantity: Quantity) -> Estimate | None:
    """Return the value of a row: of a score, a metric or an application."""
    if quantity.key in APPLICATIONS:
        return application_value(row, quantity.key)
    return quantity.of(row.result)


def _data(rows: Sequence[BoardRow], quantity: Quantity, across: str) -> tuple[ChartData, list[str]]:
    """Make the table, by bitrate; and name the codecs that have a value but no bitrate."""
    columns = [
        DataColumn("codec", "Codec"),
        DataColumn("family", "Family"),
        DataColumn("source", "Source"),
        DataColumn("model", "Model"),
        DataColumn("dataset", "Dataset"),
        DataColumn("kbps", "kbps", 2),
        DataColumn("tokens_per_second", "Tokens per second", 1),
        DataColumn(quantity.key, quantity.title, quantity.decimals),
        DataColumn("low", "95 % from", quantity.decimals),
        DataColumn("high", "to", quantity.decimals),
        DataColumn("n", "Clips", 0),
        DataColumn("partial", "Partial"),
    ]
    found, without = [], []
    for row in rows:
        estimate = value_of(row, quantity)
        if estimate is None or estimate.mean is None:
            continue
        name = row.result.title if row.source == "published" else row.result.codec
        if math.isnan(placed(row.result, across).place):
            without.append(name)
            continue
        asked = [row.applications[quantity.key]] if quantity.key in APPLICATIONS else []
        model = asked[0].model.name if asked else None
        dataset = (asked[0].numbers.dataset or None) if asked else None
        partial = None if row.result.summary.complete else "partial"
        values = (estimate.mean, estimate.low, estimate.high, estimate.n or None, partial)
        tokens = row.result.summary.tokens_per_second if across else None
        rate = None if math.isnan(row.result.kbps) else row.result.kbps
        source = figure_label(row.source_label, *asked)
        found.append((name, row.result.family, source, model, dataset, rate, tokens, *values))
    return _without_empty(
        ChartData(columns, sorted(found, key=lambda cells: (cells[6] or cells[5], cells[0])))
    ), without


def _without_empty(data: ChartData) -> ChartData:
    """Leave out the columns that no row has: published tables have no intervals and no counts of clips."""
    kept = [place for place in range(len(data.columns)) if any(row[place] is not None for row in data.rows)]
    return ChartData([data.columns[place] for place in kept], [[row[place] for place in kept] for row in data.rows])


def _declared(rows: Sequence[BoardRow]) -> str:
    """Explain the marks of declared bitrates where there are some."""
    return rate_notes([row.result for row in rows if row.result.kbps > 0])


def _left_out(without: Sequence[str], across: str) -> str:
    if not without:
        return ""
    are = "is" if len(without) == 1 else "are"
    lacking = "without tokens" if across else "whose bitrate is not stated"
    return f" {count(len(without), 'codec')} {lacking} {are} left out: {some_of(sorted(without))}."
