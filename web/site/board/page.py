"""The page ``/``: filters, chart and table of one answer of the leaderboard, as HTML; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from codec_superb.metrics.table import CATEGORIES, Category
from codec_superb.web.application_rows import at_rates_behind
from codec_superb.web.figures.board import LINES_NOTE
from codec_superb.web.figures.rate import rate_notes
from codec_superb.web.rows import BoardRow
from codec_superb.web.site.board.address import Addresses
from codec_superb.web.site.board.choices import BoardState, BoardView
from codec_superb.web.site.board.paging import page_links
from codec_superb.web.site.board.table import board_table, in_words, quantity_of, value_of
from codec_superb.web.site.board.words import SOURCES, chips, plain, rank_words
from codec_superb.web.site.page import PageContext, render
from codec_superb.web.text import hertz

API = "/api/v1/leaderboard"
EXPORTS = (("CSV", f"{API}.csv"), ("JSON", f"{API}.json"), ("Parquet", f"{API}.parquet"))
"""Name and address of a machine-readable format of the rows shown."""


_ALL_COLUMNS: dict[str, Any] = {"columns": (), "only_columns": False}


@dataclass(frozen=True, slots=True)
class Tab:
    """One category."""

    category: Category
    url: str
    current: bool


def leaderboard_page(view: BoardView, front: Sequence[BoardRow], page_context: PageContext) -> str:
    """Render the page. ``front`` holds the codecs of the chart's Pareto front, lowest bitrate first."""
    state, addresses = view.state, Addresses(view)
    quantity = quantity_of(state.metric)
    pages = max(1, ceil(view.total / view.page_size))
    valued = [at_rates_behind(row, quantity.key) for row in view.rows if value_of(row, quantity) is not None]
    return render(
        "leaderboard.html.j2",
        page_context,
        view=view,
        state=state,
        quantity=quantity,
        tabs=[Tab(category, _tab(addresses, category), category == state.category) for category in CATEGORIES],
        metrics=[(key, _metric_label(key)) for key in _with(view.choices.metrics, state.metric)],
        datasets=[
            ("", "All datasets of each codec"),
            *((name, name) for name in _with(view.choices.datasets, state.dataset)),
        ],
        sources=[(key, f"{label} ({amount})") for key, label, amount in view.choices.sources],
        rates=[(rate, hertz(rate), rate in state.rates) for rate in sorted({*view.choices.rates, *state.rates})],
        source_words=SOURCES[state.source],
        not_run_again=view.choices.not_run_again,
        everyone=addresses.to(source="runs"),
        rank_words=rank_words(view),
        credit=_credit(view),
        chips=chips(state, addresses),
        cleared=addresses.cleared(),
        table=board_table(view, addresses, local=bool(page_context.local)),
        front=in_words(front, quantity),
        drawn=bool(front) or any(row.result.kbps > 0 for row in valued),
        rate_notes=rate_notes([row.result for row in valued]),
        lines_note=LINES_NOTE,
        intervals=view.rank_basis != "values",
        comparable=any(row.submission for row in view.rows),
        more_open=_narrowed(state),
        figure=addresses.to(f"{API}/chart", sort="", descending=None, **_ALL_COLUMNS),
        exports=[(label, addresses.to(path, page=state.page, **_ALL_COLUMNS)) for label, path in EXPORTS],
        usual_columns=addresses.to(**_ALL_COLUMNS),
        pages=page_links(state.page, pages, lambda page: addresses.to(page=page)),
        others=[(label, amount, addresses.cleared(key)) for key, label, amount in view.choices.sources if amount],
        plain=plain,
    )


def _narrowed(state: BoardState) -> bool:
    """Tell whether a filter is set that is folded away."""
    limits = (state.kbps_min, state.kbps_max, state.tps_min, state.tps_max)
    return any(limit is not None for limit in limits) or bool(state.rates or state.open_weights or state.causal)


def _tab(addresses: Addresses, category: Category) -> str:
    """Address of a category: a dataset or a metric of this category alone is left out."""
    return addresses.to(category=category, dataset="", metric="score", sort="", descending=None)


def _metric_label(key: str) -> str:
    quantity = quantity_of(key)
    return quantity.title if quantity.higher_is_better else f"{quantity.title}, lower is better"


def _with(offered: Sequence[str], chosen: str) -> list[str]:
    """Keep a choice without rows in its picker, so that the form agrees with the page."""
    return [*offered, *([chosen] if chosen and chosen not in offered else [])]


def _credit(view: BoardView) -> tuple[str, str] | None:
    """Citation and address of the one published table that is shown."""
    found = {(row.source_label, row.source_url) for row in view.rows if row.source == "published" and row.source_url}
    if len(found) != 1:
        return None
    label, url = found.pop()
    return (label, url) if url else None
