"""Codecs on one dataset: a column a task, with the original sound and guessing above the codecs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isnan

from codec_superb.web.application_rows import original_of, rates_in_words, warning
from codec_superb.web.applications import APPLICATION_METRICS
from codec_superb.web.quantity import Quantity
from codec_superb.web.report.application_details import signed
from codec_superb.web.rows import ApplicationRow, CodecResult, ProbeModel
from codec_superb.web.senders import most_sent
from codec_superb.web.site.cells import TextCell, TextTable
from codec_superb.web.text import MISSING, interval
from codec_superb.web.understanding.choose import AGREEMENT, UNREAD, beside, chance_of, main_rows

Listened = tuple[CodecResult, tuple[ApplicationRow, ...]]
"""A codec with its rows of tasks on one dataset, which hold the bitrate."""
NOT_MEASURED = TextCell(MISSING, "not measured")


@dataclass(frozen=True, slots=True)
class UnderstandingColumn:
    """One task on the dataset, as the chat answered that most senders, and codecs, have."""

    title: str
    quantity: Quantity
    model: ProbeModel
    rows: tuple[ApplicationRow, ...]
    """A row a codec; only those of this chat, which may be compared."""
    everything: tuple[ApplicationRow, ...]

    @property
    def usual(self) -> ApplicationRow:
        """Return the row whose value on the originals stands for all."""
        return original_of((row, row.sender) for row in self.rows) or self.rows[0]


def understanding_columns(codecs: Sequence[Listened]) -> tuple[UnderstandingColumn, ...]:
    """Return a column for each task that a codec has a value of, in the order of the table."""
    everything = tuple(row for _, rows in codecs for row in rows)
    groups: dict[str, list[ApplicationRow]] = {}
    for row in main_rows(everything):
        groups.setdefault(row.numbers.figure, []).append(row)
    return tuple(_column(figure, rows, everything) for figure, rows in groups.items())


def understanding_table(dataset: str, codecs: Sequence[Listened], columns: Sequence[UnderstandingColumn]) -> TextTable:
    """Make the table: codecs by bitrate; a codec that another chat listened to shows no value."""
    heads = (TextCell("Codec", "kbps"), *(TextCell(column.title, _told(column)) for column in columns))
    original = (TextCell("Original sound"), *map(_original, columns))
    chances = [chance_of(column.usual, column.everything) for column in columns]
    guessed = (TextCell("Chance", "guessing among the options"), *map(_chance, columns, chances))
    ordered = sorted(codecs, key=lambda codec: (_rate(codec), codec[0].codec))
    lines = [_line(result, rows, columns) for result, rows in ordered]
    caption = f"On {dataset}; in brackets 95 % intervals, then what is lost against the original"
    below = [guessed] if any(chance is not None for chance in chances) else []
    return TextTable(caption, heads, (original, *below, *lines))


def _column(figure: str, rows: Sequence[ApplicationRow], everything: tuple[ApplicationRow, ...]) -> UnderstandingColumn:
    application = APPLICATION_METRICS[figure]
    model = most_sent((row.model, row.sender) for row in rows)
    chosen = tuple(row for row in rows if row.model == model)
    title = application.probe.label if application.probe else application.quantity.title
    return UnderstandingColumn(title, application.quantity, model, chosen, everything)


def _told(column: UnderstandingColumn) -> str:
    direction = "higher is better" if column.quantity.higher_is_better else "lower is better"
    prompt = dict(column.model.settings).get("prompt_sha256", "")[:8]
    return f"{column.quantity.title}, {direction}; {column.model.backend}" + (f", prompt {prompt}" if prompt else "")


def _rate(codec: Listened) -> float:
    return next((row.kbps for row in codec[1] if not isnan(row.kbps)), inf)


def _original(column: UnderstandingColumn) -> TextCell:
    score, quantity = column.usual.numbers.reference, column.quantity
    return TextCell(quantity.write(score.value), interval(score.low, score.high, quantity.decimals))


def _chance(column: UnderstandingColumn, chance: float | None) -> TextCell:
    return TextCell(MISSING if chance is None else column.quantity.write(chance))


def _line(
    result: CodecResult, rows: Sequence[ApplicationRow], columns: Sequence[UnderstandingColumn]
) -> tuple[TextCell, ...]:
    cells = [_cell(next((row for row in column.rows if row.codec == result.codec), None), column) for column in columns]
    said = "; ".join(filter(None, (rates_in_words(rows), result.source)))
    return (TextCell(result.title, said, f"/codecs/{result.codec}"), *cells)


def _cell(row: ApplicationRow | None, column: UnderstandingColumn) -> TextCell:
    if row is None:
        return NOT_MEASURED
    numbers, quantity = row.numbers, column.quantity
    told = [
        f"{word}\u00a0{of.numbers.resynthesis.value:.1f}\u00a0%"
        for word, end in (("agreement", AGREEMENT), ("unread", UNREAD))
        if (of := beside(row, column.everything, end)) is not None and of.numbers.resynthesis.value is not None
    ]
    told += filter(None, [warning(row, column.rows)])
    ends = interval(numbers.resynthesis.low, numbers.resynthesis.high, quantity.decimals)
    loss = f"loss\u00a0{signed(numbers.loss, quantity, ends=False)}"
    return TextCell(quantity.write(numbers.resynthesis.value), f"{ends} {loss}", None, ", ".join(told))
