"""Codecs on one dataset: a column a super task, with the original sound and the true transcripts above the codecs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isnan

from codec_superb.metrics.results import NO_SCORE, Score
from codec_superb.web.application_rows import original_of, rates_in_words, warning
from codec_superb.web.applications import APPLICATIONS
from codec_superb.web.mseb.choose import SPOKES, main_rows, oracle_among
from codec_superb.web.quantity import Quantity
from codec_superb.web.report.application_details import signed
from codec_superb.web.rows import ApplicationRow, CodecResult, ProbeModel
from codec_superb.web.senders import most_sent
from codec_superb.web.site.cells import TextCell, TextTable
from codec_superb.web.text import MISSING, interval

Measured = tuple[CodecResult, tuple[ApplicationRow, ...]]
"""A codec with its rows of MSEB on one dataset, which hold the bitrate."""
NOT_MEASURED = TextCell(MISSING, "not measured")


@dataclass(frozen=True, slots=True)
class TaskColumn:
    """One super task on the dataset: the figure and the model that most senders, and codecs, have."""

    task: str
    quantity: Quantity
    model: ProbeModel
    rows: tuple[ApplicationRow, ...]
    """A row a codec; only those of this model, which may be compared."""
    ceiling: Score
    """On the original sound, as most senders have it."""
    oracle: Score | None


def task_columns(codecs: Sequence[Measured]) -> tuple[TaskColumn, ...]:
    """Return a column for each super task that a codec has a value of, in the order of the spokes."""
    everything = [row for _, rows in codecs for row in rows]
    columns = (_column(task, main_rows(everything, task), everything) for task in SPOKES)
    return tuple(column for column in columns if column is not None)


def board_table(dataset: str, codecs: Sequence[Measured], columns: Sequence[TaskColumn]) -> TextTable:
    """Make the table: codecs by bitrate; a codec that another model listened to shows no value."""
    heads = (TextCell("Codec", "kbps"), *(TextCell(column.task.capitalize(), _told(column)) for column in columns))
    oracle = (
        TextCell("True transcripts", "in place of the sound"),
        *(_reference(c.oracle, c.quantity) for c in columns),
    )
    original = (TextCell("Original sound"), *(_reference(column.ceiling, column.quantity) for column in columns))
    ordered = sorted(codecs, key=lambda codec: (_rate(codec), codec[0].codec))
    lines = [_line(result, rows, columns) for result, rows in ordered]
    where = f"On {dataset}" if dataset else "Over all locales"
    above = [oracle] if any(column.oracle for column in columns) else []
    caption = f"{where}; in brackets 95 % intervals, below them what is lost against the original"
    return TextTable(caption, heads, (*above, original, *lines))


def _column(task: str, rows: Sequence[ApplicationRow], everything: Sequence[ApplicationRow]) -> TaskColumn | None:
    if not rows:
        return None
    figure, model = most_sent(((row.numbers.figure, row.model), row.sender) for row in rows)
    chosen = tuple(row for row in rows if (row.numbers.figure, row.model) == (figure, model))
    usual = original_of((row, row.sender) for row in chosen)
    ceiling = NO_SCORE if usual is None else usual.numbers.reference
    return TaskColumn(task, APPLICATIONS[figure], model, chosen, ceiling, oracle_among(chosen, everything))


def _told(column: TaskColumn) -> str:
    direction = "higher is better" if column.quantity.higher_is_better else "lower is better"
    return f"{column.quantity.title}, {direction}; {column.model.backend}"


def _rate(codec: Measured) -> float:
    found = [row.kbps for row in codec[1] if not isnan(row.kbps)]
    return found[0] if found else inf


def _line(result: CodecResult, rows: Sequence[ApplicationRow], columns: Sequence[TaskColumn]) -> tuple[TextCell, ...]:
    cells = [_cell(next((row for row in column.rows if row.codec == result.codec), None), column) for column in columns]
    said = "; ".join(filter(None, (rates_in_words(rows), result.source)))
    return (TextCell(result.title, said, f"/codecs/{result.codec}#mseb"), *cells)


def _reference(score: Score | None, quantity: Quantity) -> TextCell:
    if score is None or score.value is None:
        return TextCell(MISSING)
    return TextCell(quantity.write(score.value), interval(score.low, score.high, quantity.decimals))


def _cell(row: ApplicationRow | None, column: TaskColumn) -> TextCell:
    if row is None:
        return NOT_MEASURED
    numbers, quantity = row.numbers, column.quantity
    value = numbers.resynthesis
    ends = interval(value.low, value.high, quantity.decimals)
    loss = f"loss\u00a0{signed(numbers.loss, quantity, ends=False)}"
    return TextCell(quantity.write(value.value), f"{ends} {loss}", None, warning(row, column.rows))
