"""Rows of the leaderboard's table as HTML: rendered once per codec and reused by every page that shows it.

Under load most pages are new (another filter, another order, another revision), while the codecs on them are not. All
of a row but its rank follows from :attr:`BoardRow.identity`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from threading import Lock

from cachetools import LRUCache, cached
from markupsafe import Markup, escape

from codec_superb.web.report.columns import RankingCell, RankingColumn
from codec_superb.web.rows import BoardRow
from codec_superb.web.site.board.columns import Place
from codec_superb.web.site.page import environment

Fill = Callable[[BoardRow], RankingCell]
RANK = "rank"
"""Key of the only column that differs between pages."""


@dataclass(frozen=True, slots=True)
class WrittenRow:
    """A row without its rank."""

    head: str
    """The cell of the name."""
    cells: dict[str, str] = field(default_factory=dict)
    """By column, of those that some page had: what follows ``<td`` in its cell."""
    filled: set[str] = field(default_factory=set)
    """Columns in which the row has something."""


_MOST_KEPT = 8_000
"""Rows, some 3 kB each."""


def write_row(row: BoardRow, name: Fill, url: str, columns: Sequence[tuple[RankingColumn, Fill]]) -> WrittenRow:
    """Write a row, or find it as it was written before and add the columns that it does not have yet."""
    written = (_begin_once if row.identity else _begin)(row, name, url)
    for column, fill in columns:
        if column.key != RANK and column.key not in written.cells:
            cell = fill(row)
            if cell.sort:
                written.filled.add(column.key)
            # last: another thread that finds the cell has no more to do
            written.cells[column.key] = _rest(cell)
    return written


def _begin(row: BoardRow, name: Fill, url: str) -> WrittenRow:
    return WrittenRow(str(_head()(name(row), url, row.result.codec if row.submission else "")))


_begin_once = cached(LRUCache(_MOST_KEPT), key=lambda row, _name, _url: row.identity, lock=Lock())(_begin)


def assemble_row(row: WrittenRow, rank: RankingCell, columns: Sequence[Place], shown: str) -> Markup:
    """Put a row together from the cells of ``columns``; that of the column ``shown`` is marked."""
    parts = ["<tr>", row.head]
    for place in columns:
        rest = _rest(rank) if place.key == RANK else row.cells[place.key]
        mark = "shown" if place.key == shown else place.mark
        parts.append(f'<td class="{mark}"{rest}' if mark else f"<td{rest}")
    parts.append("</tr>")
    return Markup("".join(parts))  # noqa: S704 -- every part comes from a template that escapes


@lru_cache(maxsize=4096)
def _rest(cell: RankingCell) -> str:
    # no template: a board of 2,000 codecs has 100,000 cells, and a macro takes five times as long
    title = f' title="{escape(cell.title)}"' if cell.title else ""
    small = f"<small>{escape(cell.small)}</small>" if cell.small else ""
    return f"{title}>{escape(cell.text)}{small}</td>"


@cache
def _head() -> Callable[..., Markup]:
    macro: Callable[..., Markup] = environment().get_template("leaderboard_table.html.j2").module.head  # type: ignore[attr-defined]
    return macro
