"""One table for a paper: blocks of rows, chosen columns, and in each block the best value of each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Literal

from codec_superb.metrics.table import Metric
from codec_superb.web.errors import PaperError
from codec_superb.web.figures.pareto import Measured, usually_on
from codec_superb.web.paper.columns import MISSING_VALUE, Block, PaperColumn, Value, block_columns, usual_columns
from codec_superb.web.quantity import SCORE, by_bitrate
from codec_superb.web.rows import CodecResult
from codec_superb.web.text import interval, number

Uncertainty = Literal["none", "interval", "pm"]
Mark = Literal["", "best", "second"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell, ready to be written."""

    value: Value
    spread: str = ""
    """``[low, high]`` or ``± half``, or nothing."""
    mark: Mark = ""
    note: str = ""
    """Sign of a note: ``†``."""


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One codec."""

    result: CodecResult
    cells: tuple[Cell, ...]
    """Aligned with the table's columns."""


@dataclass(frozen=True, slots=True)
class PaperBlock:
    """Rows under one heading."""

    heading: str
    block: Block
    rows: tuple[PaperRow, ...]


@dataclass(frozen=True, slots=True)
class PaperTable:
    """The whole table."""

    columns: tuple[PaperColumn, ...]
    blocks: tuple[PaperBlock, ...]
    uncertainty: Uncertainty
    notes: tuple[str, ...]
    """Sentences for the caption."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What a table is to show."""

    columns: tuple[str, ...] = ()
    """Keys, each with a label of its own where one is wanted (``asr_wer_pct=WER``); empty for the usual ones."""
    uncertainty: Uncertainty = "none"
    sort: str = SCORE.key
    """Key of the column by which rows are ordered: the best first, names and bitrates ascending."""
    second: bool = False
    """Whether the second best is marked too."""


FAILED = "†"
CEILING = "‡"
OTHER = "§"
UNCOUNTED = "¶"


def paper_table(blocks: Sequence[Block], choices: Choices, metrics: Mapping[str, Metric]) -> PaperTable:
    """Make the table. A column that has no value in any block is an error, since it was asked for.

    Of each block and column the best value is marked, as printed, so that equal digits are marked alike. A lossless
    codec is a ceiling, a codec with failed clips, or on other datasets than most, has other means: they are not marked.
    Nor are codecs whose bits nobody counted.
    """
    labels = dict(_key_and_label(one) for one in choices.columns)
    keys = tuple(labels) or usual_columns(blocks, metrics)
    found = [block_columns(block, keys, metrics) for block in blocks]
    columns = tuple({column.key: column for of in found for column in of}.values())
    wanted = [key for key in labels if not any(_is(column, key) for column in columns)]
    if wanted or not blocks:
        scored = {key for block in blocks for row in block.results for key in row.summary.metrics}
        done = "it is undefined on every clip:" if {*wanted} & scored else "score or probe the runs with it, or"
        raise PaperError(
            f"expected a value of {', '.join(wanted) or 'at least one codec'} in the results, got none: "
            f"{done} leave the column out"
        )
    # in the order asked for, whichever block has them
    columns = tuple(
        replace(column, label=labels.get(key) or column.label) for key in keys for column in columns if _is(column, key)
    )
    made = tuple(
        _block(block, {column.key: column for column in of}, columns, choices, metrics)
        for block, of in zip(blocks, found, strict=True)
    )
    return PaperTable(columns, made, choices.uncertainty, _notes(made, choices))


def _key_and_label(text: str) -> tuple[str, str]:
    key, _, label = text.partition("=")
    return key.strip(), label.strip()


def _is(column: PaperColumn, key: str) -> bool:
    return column.key == key or column.key.startswith(f"{key}:")


def _block(
    block: Block,
    here: Mapping[str, PaperColumn],
    columns: Sequence[PaperColumn],
    choices: Choices,
    metrics: Mapping[str, Metric],
) -> PaperBlock:
    rows = _ordered(block, choices.sort, metrics)
    fair = _comparable(rows, block.apart)
    made = []
    for column in columns:
        own = here.get(column.key)
        values = [MISSING_VALUE if own is None else own.fill(row) for row in rows]
        cells = [_cell(value, column, choices) for value in values]
        if column.quantity is not None:
            cells = _marked(cells, fair, choices, higher=column.quantity.higher_is_better)
        made.append(cells)
    by_row = [tuple(cells) for cells in zip(*made, strict=True)]
    signs = [_signs(row, block, _usual(rows)) for row in rows]
    noted = tuple(_noted(row, cells, sign, columns) for row, cells, sign in zip(rows, by_row, signs, strict=True))
    return PaperBlock(heading(block), block, noted)


def heading(block: Block) -> str:
    """Name a block: category, datasets, condition."""
    parts = [block.category.capitalize(), ", ".join(block.datasets)]
    return ", ".join([*parts, *([f"under {block.condition}"] if block.condition else [])])


def _ordered(block: Block, sort: str, metrics: Mapping[str, Metric]) -> list[CodecResult]:
    """Order the rows by a column: the best, the least or the first by name first, those without a value last."""
    rows = by_bitrate(block.results)
    column = next(iter(block_columns(block, [sort], metrics)), None)
    if column is None:
        return rows
    if column.is_text:
        return sorted(rows, key=lambda row: column.fill(row).text.casefold())
    sign = -1 if column.quantity is not None and column.quantity.higher_is_better else 1

    def place(row: CodecResult) -> float:
        value = column.fill(row).number
        return inf if value is None else sign * value

    return sorted(rows, key=place)


def _comparable(rows: Sequence[CodecResult], apart: frozenset[str]) -> list[bool]:
    """Say which rows have means over the same clips as most, and bits that were counted."""
    usual = _usual(rows)
    return [
        not (row.lossless or row.uncounted or row.summary.failed or row.codec in apart)
        and row.summary.datasets == usual
        for row in rows
    ]


def _usual(rows: Sequence[CodecResult]) -> tuple[str, ...]:
    return usually_on(Measured((row.summary.datasets, ()), f"codec:{row.codec}") for row in rows)[0]


def _cell(value: Value, column: PaperColumn, choices: Choices) -> Cell:
    quantity = column.quantity
    if quantity is None or value.number is None or value.low is None or value.high is None:
        return Cell(value)
    if choices.uncertainty == "interval":
        return Cell(value, interval(value.low, value.high, quantity.decimals))
    if choices.uncertainty == "pm":
        half = half_width(value)
        return Cell(value, "" if half is None else f"± {number(half, quantity.decimals)}")
    return Cell(value)


def half_width(value: Value) -> float | None:
    """Return the longer of the two arms of the 95 % interval, so that value ± arm covers it."""
    if value.number is None or value.low is None or value.high is None:
        return None
    return max(value.high - value.number, value.number - value.low, 0.0)


def _marked(cells: Sequence[Cell], fair: Sequence[bool], choices: Choices, *, higher: bool) -> list[Cell]:
    """Mark the best printed value, and the second best where that is asked for."""
    places: dict[str, float] = {}
    for cell, counts in zip(cells, fair, strict=True):
        if counts and cell.value.number is not None and not cell.value.partial:
            places.setdefault(cell.value.text, cell.value.number)
    order = sorted(places, key=lambda text: places[text], reverse=higher)
    marks: dict[str, Mark] = {}
    if len(cells) > 1 and order:
        marks[order[0]] = "best"
    if choices.second and len(order) > 1:
        marks[order[1]] = "second"
    return [
        replace(cell, mark=marks.get(cell.value.text, "")) if counts and not cell.value.partial else cell
        for cell, counts in zip(cells, fair, strict=True)
    ]


def _signs(row: CodecResult, block: Block, usual: tuple[str, ...]) -> str:
    other = row.summary.datasets != usual or row.codec in block.apart
    signs = (CEILING, row.lossless), (FAILED, row.summary.failed), (UNCOUNTED, row.uncounted), (OTHER, other)
    return "".join(sign for sign, holds in signs if holds)


def _noted(row: CodecResult, cells: Sequence[Cell], sign: str, columns: Sequence[PaperColumn]) -> PaperRow:
    """Put the signs to the codec's name, or to the first value where no name is shown."""
    place = min((n for n, column in enumerate(columns) if column.key in {"codec", "name"}), default=0)
    return PaperRow(row, tuple(replace(cell, note=sign) if n == place else cell for n, cell in enumerate(cells)))


_SPREADS: Mapping[Uncertainty, str] = {
    "none": "",
    "interval": "In brackets: 95 % intervals by speaker or recording (clustered jackknife).",
    "pm": "±: the longer arm of the 95 % interval by speaker or recording (clustered jackknife).",
}


def _notes(blocks: Sequence[PaperBlock], choices: Choices) -> tuple[str, ...]:
    rows = [row.result for made in blocks for row in made.rows]
    notes = ["Best value of each column in bold" + (", second best underlined" if choices.second else "")]
    if any(row.lossless for row in rows):
        notes.append(f"{CEILING}: lossless, a ceiling, not marked")
    if any(row.summary.failed for row in rows):
        notes.append(f"{FAILED}: clips failed, the values rest on the others and are not marked")
    if words := " or ".join(sorted({row.rate_mark for row in rows if row.rate_mark})):
        notes.append(f"{UNCOUNTED}: bitrate {words}, not measured: never ranked with measured ones, and not marked")
    if any(cell.note.endswith(OTHER) for made in blocks for row in made.rows for cell in row.cells):
        notes.append(f"{OTHER}: on other datasets, or other clips of them, than most; not marked")
    several = any(len(made.block.datasets) > 1 for made in blocks)
    if several:
        notes.append("Over several datasets: metrics are means of their means, scores their harmonic means")
    spread = _SPREADS[choices.uncertainty]
    return (*(f"{note}." for note in notes), *([spread] if spread else []))
