"""A table as Markdown, for people, and as CSV, for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence

from codec_superb.web.paper.columns import MISSING_VALUE, PaperColumn, Value
from codec_superb.web.paper.latex import unit_of
from codec_superb.web.paper.table import Cell, PaperBlock, PaperTable, Uncertainty, half_width
from codec_superb.web.spreadsheets import escape_formula

# of GitHub's Markdown: ~ strikes out, | ends a cell, < begins HTML, & an entity
_MARKDOWN = set("\\`*_[]<>|~&")


def markdown_text(text: str) -> str:
    """Escape any text for a cell of a table in Markdown (GitHub's kind); line breaks become spaces."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return "".join(f"\\{letter}" if letter in _MARKDOWN else letter for letter in line)


def markdown_table(table: PaperTable) -> str:
    """Write a table a block, and the notes below; best in bold, second best underlined."""
    parts = []
    for block in table.blocks:
        kept = [
            n for n, _ in enumerate(table.columns) if any(row.cells[n].value != MISSING_VALUE for row in block.rows)
        ]
        title = f"**{markdown_text(block.heading)}**\n\n"
        parts.append(title + "".join(_markdown_lines(block, table.columns, kept)))
    return "\n".join([*parts, *(f"{note}  " for note in table.notes), ""])


def _markdown_lines(block: PaperBlock, columns: Sequence[PaperColumn], kept: Sequence[int]) -> Iterator[str]:
    shown = [columns[n] for n in kept]
    yield _line([f"{markdown_text(column.label)} {markdown_text(unit_of(column))}".strip() for column in shown])
    yield _line([":--" if column.is_text else "--:" for column in shown])
    for row in block.rows:
        yield _line([_markdown_cell(row.cells[n]) for n in kept])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |\n"


def _markdown_cell(cell: Cell) -> str:
    text = markdown_text(cell.value.text)
    if cell.mark:
        text = f"**{text}**" if cell.mark == "best" else f"<u>{text}</u>"
    return f"{text}{cell.note} {markdown_text(cell.spread)}".strip()


def csv_table(table: PaperTable) -> str:
    """Write the table with all digits (RFC 4180): where a row belongs, then each column, with its ends beside it.

    A missing value is an empty cell. No cell can be interpreted as a spreadsheet formula.
    """
    out = io.StringIO()
    writer = csv.writer(out)  # by default with RFC 4180's quotes and CRLF
    parts = _PARTS[table.uncertainty]
    heads = [f"{column.key}{part}" for column in table.columns for part in ("", *(parts if column.quantity else ()))]
    writer.writerow(
        ["category", "datasets", "condition", "lossless", "failed_clips", "bit_source", *map(escape_formula, heads)]
    )
    for made in table.blocks:
        where = made.block.category, ";".join(made.block.datasets), made.block.condition
        for row in made.rows:
            cells = zip(row.cells, table.columns, strict=True)
            values = [value for cell, column in cells for value in _csv_cells(cell.value, column, table.uncertainty)]
            texts = [escape_formula(value) if isinstance(value, str) else value for value in (*where, *values)]
            facts = int(row.result.lossless), row.result.summary.failed, row.result.bit_source
            writer.writerow([*texts[:3], *facts, *texts[3:]])
    return out.getvalue()


_PARTS: Mapping[Uncertainty, tuple[str, ...]] = {"none": (), "interval": ("_low", "_high"), "pm": ("_pm",)}


def _csv_cells(value: Value, column: PaperColumn, uncertainty: Uncertainty) -> list[str | float | None]:
    shown: str | float | None = value.number if value.number is not None else value.text
    first = None if value == MISSING_VALUE else shown
    if column.quantity is None or uncertainty == "none":
        return [first]
    return [first, value.low, value.high] if uncertainty == "interval" else [first, half_width(value)]
