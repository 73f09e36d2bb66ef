"""Renders the page of charts."""

from __future__ import annotations

from collections.abc import Sequence

from codec_superb.web.site.charts.choices import (
    CHARTS,
    MOST_CODECS,
    PICKERS,
    ROWS_SHOWN,
    Cell,
    Chart,
    ChartState,
    DataColumn,
    DrawnChart,
    Picker,
)
from codec_superb.web.site.page import PageContext, render
from codec_superb.web.text import MISSING, number


def charts_page(
    page_context: PageContext,
    drawn: DrawnChart,
    pickers: Sequence[Picker],
    codecs: Sequence[str],
    missing: Sequence[str],
    *,
    revision: str,
) -> str:
    """Show one chart.

    ``codecs`` are the names that its fields for codecs suggest, none where it has no such fields; ``missing`` says
    which choices it does not have, ``revision`` of which state of the board it is.
    """
    shown = drawn.state
    return render(
        "charts.html.j2",
        page_context,
        drawn=drawn,
        missing=missing,
        tabs=[(label, tab_url(shown, chart), chart == shown.chart) for chart, label in CHARTS.items()],
        pickers=pickers,
        codecs=codecs,
        codec_fields=list(shown.codec)[:MOST_CODECS] + [""] * (MOST_CODECS - len(shown.codec)),
        has_codecs="codec" in PICKERS[shown.chart],
        figure_url=shown.data_url(),
        file_name=f"{shown.chart}-{shown.category}-revision-{revision}",
        csv_url=shown.data_url(".csv"),
        rows=drawn.table.rows[:ROWS_SHOWN],
        more=max(0, len(drawn.table.rows) - ROWS_SHOWN),
        written=cell_text,
    )


def tab_url(shown: ChartState, chart: Chart) -> str:
    """Write the address of another chart in the same category; it may not have the other choices."""
    return ChartState(chart=chart, category=shown.category).page_url()


def cell_text(value: Cell, column: DataColumn) -> str:
    """Write a cell of a table."""
    if value is None:
        return MISSING
    return value if isinstance(value, str) else number(value, column.decimals or 0)
