"""Tables of results: HTML for notebooks, aligned text for terminals, a DataFrame where pandas is installed."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from codec_superb.missing_package import not_installed
from codec_superb.pipeline.errors import PipelineError

if TYPE_CHECKING:
    import pandas as pd

Cell = tuple[str, str]
"""What stands in a cell, and a smaller second line."""


class Table(NamedTuple):
    """A table for people."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    words: int = 1
    """So many columns, the first ones, hold words: the others are aligned to the right."""
    quiet: tuple[str, ...] = ()
    """Columns whose second lines are left out of text."""

    def as_html(self) -> str:
        """Return a table that takes its colours from the page."""
        head = "".join(f"<th>{html.escape(column)}</th>" for column in self.columns)
        body = "".join(f"<tr>{''.join(map(self._cell, range(len(row)), row))}</tr>" for row in self.rows)
        style = "text-align:left;font-weight:bold;padding-top:1em"
        caption = f'<caption style="{style}">{html.escape(self.title)}</caption>' if self.title else ""
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _cell(self, index: int, cell: Cell) -> str:
        small = f"<br><small>{html.escape(cell[1])}</small>" if cell[1] else ""
        return f'<td style="text-align:{"left" if index < self.words else "right"}">{html.escape(cell[0])}{small}</td>'

    def _line(self, column: str, cell: Cell) -> str:
        return cell[0] if column in self.quiet else " ".join(filter(None, cell))

    def as_text(self) -> str:
        """Return aligned lines, the second lines of cells beside the first."""
        cells = [self.columns, *(tuple(map(self._line, self.columns, row)) for row in self.rows)]
        widths = [max(len(row[index]) for row in cells) for index in range(len(self.columns))]
        lines = [
            "  ".join(
                part.ljust(width) if index < self.words else part.rjust(width)
                for index, (part, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in cells
        ]
        return "\n".join(filter(None, [self.title, *lines]))


def data_frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows as a DataFrame. Raises PipelineError with the command where pandas is missing."""
    try:
        import pandas as pd
    except ImportError as error:
        raise PipelineError(not_installed("to_pandas()", "pandas", extra="pandas")) from error
    return pd.DataFrame(list(rows))
