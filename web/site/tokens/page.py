"""The page ``/tokens``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from codec_superb.web.figures.tokens import AXES
from codec_superb.web.site.cells import TextTable
from codec_superb.web.site.page import PageContext, render
from codec_superb.web.site.tokens.board import CONTENTS, Tokens, columns, contents_table, quantity_of, tokens_table
from codec_superb.web.site.tokens.settings import Asked
from codec_superb.web.site.whose import Whose
from codec_superb.web.text import count


@dataclass(frozen=True, slots=True)
class TokensView:
    """Everything on the page."""

    dataset: str
    datasets: Sequence[tuple[str, int]]
    """Names of the datasets with figures of tokens, and how many codecs; the one of the page among them."""
    other_state: int
    """Codecs that were run on another state of the dataset than most senders have."""
    asked: Asked
    """The codecs as most senders asked about them, and what was asked otherwise."""
    published: Sequence[tuple[str, str, TextTable]]
    """Title, definition and table of each published one."""
    source: Mapping[str, Any]
    """What is known of its source, with what differs."""
    whose: Whose

    @property
    def codecs(self) -> Sequence[Tokens]:
        """Return the codecs that may be compared."""
        return self.asked.codecs

    @property
    def board(self) -> TextTable:
        """Return the table of the codecs."""
        return tokens_table(self.dataset, self.codecs)

    @property
    def contents(self) -> TextTable | None:
        """Return the table of what tokens carry, None where no codec was asked."""
        return contents_table(self.dataset, self.codecs) if columns(self.codecs, CONTENTS) else None

    @property
    def picture(self) -> str:
        """Return the address of the picture of phones against speakers."""
        return "/api/v1/tokens/figures/contents?" + urlencode([("dataset", self.dataset), *self.whose.pairs])

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Return the datasets as a picker takes them."""
        return [(name, f"{name} ({count(codecs, 'codec')})") for name, codecs in self.datasets]

    @property
    def charts(self) -> list[tuple[str, str]]:
        """Return addresses and names of the charts: each figure against each axis."""
        return [
            (
                "/api/v1/tokens/figures/rate?"
                + urlencode(
                    [("figure", key), ("across", across or "kbps"), ("dataset", self.dataset), *self.whose.pairs]
                ),
                f"{quantity_of(key).title}, against {words}",
            )
            for across, words in AXES.items()
            for key in columns(self.codecs)
        ]


def tokens_page(view: TokensView, page_context: PageContext) -> str:
    """Render the page."""
    return render("tokens.html.j2", page_context, view=view)
