"""Renders the page of MSEB's super tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from codec_superb.web.figures.across import Across, across_query, axes_with, has_tokens
from codec_superb.web.mseb.choose import SPOKES
from codec_superb.web.site.cells import TextTable
from codec_superb.web.site.mseb.board import Measured, TaskColumn, board_table
from codec_superb.web.site.mseb.published import PublishedTask
from codec_superb.web.site.page import PageContext, render
from codec_superb.web.site.whose import Whose
from codec_superb.web.text import count


@dataclass(frozen=True, slots=True)
class MsebSource:
    """Where the published figures come from."""

    label: str
    citation: str
    url: str
    date: str
    """ISO date of the state that was carried over."""
    differs: Sequence[str]


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """The table of reconstruction, marked."""

    statement: str
    differs: Sequence[str]
    table: TextTable


@dataclass(frozen=True, slots=True)
class MsebView:
    """Everything on the page."""

    dataset: str
    datasets: Sequence[tuple[str, int]]
    """Names of the datasets with results of codecs, and how many codecs; the one of the page among them."""
    codecs: Sequence[Measured]
    columns: Sequence[TaskColumn]
    published: Sequence[PublishedTask]
    source: MsebSource
    reconstruction: Reconstruction
    whose: Whose

    @property
    def board(self) -> TextTable:
        """Return the table of the codecs."""
        return board_table(self.dataset, self.codecs, self.columns)

    @property
    def other_state(self) -> int:
        """Return how many codecs were run on another state of the dataset than most senders have."""
        return dict(self.datasets).get(self.dataset, 0) - len(self.codecs)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Return the datasets as a picker takes them."""
        return [(name, f"{name or 'all locales'} ({count(codecs, 'codec')})") for name, codecs in self.datasets]

    @property
    def missing(self) -> list[str]:
        """Super tasks that no codec has on the dataset."""
        there = {column.task for column in self.columns}
        return [task for task in SPOKES if task not in there]

    @property
    def charts(self) -> list[tuple[str, str]]:
        """Addresses and names of the charts, against bitrate first."""
        return [
            (
                rate_url(self.dataset, column.quantity.key, across, self.whose),
                f"{column.task.capitalize()}: {column.quantity.title}{against}",
            )
            for across, against in axes_with(tokens=self.tokens)
            for column in self.columns
        ]

    @property
    def tokens(self) -> bool:
        """Whether a codec has tokens."""
        return any(has_tokens(result) for result, _ in self.codecs)

    @property
    def by_super_task(self) -> list[tuple[str, list[TextTable]]]:
        """Return the published tables of each super task, in the order of the spokes, others last."""
        names = [*SPOKES, *dict.fromkeys(task.super_task for task in self.published if task.super_task not in SPOKES)]
        found = [(name, [task.table() for task in self.published if task.super_task == name]) for name in names]
        return [(name or "other tasks", tables) for name, tables in found if tables]


def rate_url(dataset: str, figure: str, across: Across, whose: Whose) -> str:
    """Return the address of a chart."""
    pairs = [("figure", figure), ("dataset", dataset), *across_query(across), *whose.pairs]
    return "/api/v1/mseb/figures/rate?" + urlencode(pairs)


def mseb_page(view: MsebView, page_context: PageContext) -> str:
    """Render the page."""
    return render("mseb.html.j2", page_context, view=view)
