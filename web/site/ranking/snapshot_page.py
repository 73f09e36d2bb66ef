"""Renders a past state of the board."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from codec_superb.metrics.table import CATEGORIES
from codec_superb.web.site.board.choices import BoardView
from codec_superb.web.site.board.paging import page_links
from codec_superb.web.site.page import PageContext, render
from codec_superb.web.site.whose import Whose


def snapshot_page(
    view: BoardView, page_context: PageContext, at: datetime, sha256: str, bibtex: str, taken_back: Collection[str],
    whose: Whose,
) -> str:  # fmt: skip
    """Render one page of a category; ``taken_back`` are submissions that are no longer public."""
    address = f"/snapshots/{view.revision}?category={view.state.category}"
    kept = "".join(f"&source={source}" for _, source in whose.kept)
    return render(
        "snapshot.html.j2",
        page_context,
        view=view,
        revision=view.revision,
        categories=CATEGORIES,
        at=at,
        sha256=sha256,
        bibtex=bibtex,
        taken_back=taken_back,
        whose=whose,
        address=address,
        kept=kept,
        links=page_links(
            view.state.page,
            -(-view.total // view.page_size),
            lambda page: f"{address}{kept}&page={page}",
        ),
    )
