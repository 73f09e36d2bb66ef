"""The page ``/understanding``: codecs by task and average, and the three averages as they were published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from codec_superb.web.figures.across import across_query, axes_with, has_tokens
from codec_superb.web.site.cells import TextTable
from codec_superb.web.site.page import PageContext, render
from codec_superb.web.site.understanding.board import Listened, UnderstandingColumn, understanding_table
from codec_superb.web.site.whose import Whose
from codec_superb.web.text import count


@dataclass(frozen=True, slots=True)
class UnderstandingView:
    """Everything on the page."""

    dataset: str
    datasets: Sequence[tuple[str, int]]
    """Names of the datasets with results of codecs, and how many codecs; the one of the page among them."""
    codecs: Sequence[Listened]
    columns: Sequence[UnderstandingColumn]
    averaged: Whose
    """Whose averages stand in the table."""
    averages: TextTable | None
    """UltraEval-Audio's average of submitted codecs; None without any."""
    published: Sequence[tuple[str, str, TextTable]]
    """Title, definition and table of each average."""
    source: Mapping[str, Any]
    contradictions: Sequence[str]
    imported: TextTable | None
    """Figures of models that a maintainer imported; None without any."""
    whose: Whose

    @property
    def board(self) -> TextTable:
        """Return the table of the codecs."""
        return understanding_table(self.dataset, self.codecs, self.columns)

    @property
    def other_state(self) -> int:
        """Return how many codecs were run on another state of the dataset than most senders have."""
        return dict(self.datasets).get(self.dataset, 0) - len(self.codecs)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Return the datasets as a picker takes them."""
        return [(name, f"{name} ({count(codecs, 'codec')})") for name, codecs in self.datasets]

    @property
    def charts(self) -> list[tuple[str, str]]:
        """Addresses and names of the charts, against bitrate first."""
        address = "/api/v1/understanding/figures/rate?"
        return [
            (
                address
                + urlencode(
                    [
                        ("figure", column.quantity.key),
                        ("dataset", self.dataset),
                        *across_query(across),
                        *self.whose.pairs,
                    ]
                ),
                f"{column.quantity.title}{against}",
            )
            for across, against in axes_with(tokens=self.tokens)
            for column in self.columns
        ]

    @property
    def tokens(self) -> bool:
        """Whether a codec has tokens."""
        return any(has_tokens(result) for result, _ in self.codecs)


def understanding_page(view: UnderstandingView, page_context: PageContext) -> str:
    """Render the page."""
    return render("understanding.html.j2", page_context, view=view)
