"""The page ``/xares``: what is read out of frames by one reader, and the published boards of XARES-LLM apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from codec_superb.web.figures.across import across_query, axes_with
from codec_superb.web.site.cells import TextCell, TextTable
from codec_superb.web.site.page import PageContext, render
from codec_superb.web.site.whose import Whose
from codec_superb.web.text import count
from codec_superb.web.xares.heat import tasks_of
from codec_superb.web.xares.rows import Reader, XaresRow
from codec_superb.web.xares.table import Cell, xares_table

_FIGURES = "/api/v1/xares/figures/"


@dataclass(frozen=True, slots=True)
class PublishedTrack:
    """One published board."""

    track: str
    title: str
    definition: str
    table: TextTable
    baselines: TextTable
    notes: Sequence[str]
    """Averages that do not follow from their rows."""

    @property
    def heat_url(self) -> str:
        """Return the address of its heat map."""
        return f"{_FIGURES}published?" + urlencode([("track", self.track)])


@dataclass(frozen=True, slots=True)
class XaresView:
    """Everything on the page."""

    reader: Reader | None
    """None without any result."""
    readers: Sequence[tuple[Reader, int]]
    rows: Sequence[XaresRow]
    """Of this reader."""
    outdated: int
    """Imported figures of other versions of tasks, which are not shown."""
    other_state: int
    """Results on another state of a dataset than most senders have, which are not shown."""
    published: Sequence[PublishedTrack]
    source: Mapping[str, Any]
    whose: Whose

    @property
    def board(self) -> TextTable:
        """Return the table."""
        found = xares_table(self.rows)
        caption = "The value, then the spread over seeds and the 95 % interval by clips of the first"
        return TextTable(caption, tuple(map(_cell, found.heads)), tuple(tuple(map(_cell, of)) for of in found.lines))

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Return the readers as a picker takes them."""
        return [(of.title, f"{of.title} ({count(lines, 'row')})") for of, lines in self.readers]

    @property
    def chosen(self) -> str:
        """Name of the reader."""
        return self.reader.title if self.reader else ""

    @property
    def rates(self) -> list[tuple[str, str]]:
        """Addresses and names of the charts, against bitrate first."""
        titles = {(row.figure, row.dataset): row.quantity.title for row in self.rows}
        return [
            (
                f"{_FIGURES}rate?"
                + urlencode(
                    [
                        ("reader", self.chosen),
                        ("figure", key),
                        ("dataset", name),
                        *across_query(across),
                        *self.whose.pairs,
                    ]
                ),
                f"{titles[key, name]}, {name}{against}",
            )
            for across, against in axes_with(tokens=any(row.tokens_per_s for row in self.rows))
            for key, name in tasks_of(self.rows)
        ]

    @property
    def heat_url(self) -> str:
        """Return the address of the heat map of all tasks."""
        return f"{_FIGURES}heat?" + urlencode([("reader", self.chosen), *self.whose.pairs])


def _cell(of: Cell) -> TextCell:
    return TextCell(of.text, of.small, of.url or None, of.warning)


def xares_page(view: XaresView, page_context: PageContext) -> str:
    """Render the page."""
    return render("xares.html.j2", page_context, view=view)
