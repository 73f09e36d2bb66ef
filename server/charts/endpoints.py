"""The page of charts, and each chart as a Plotly figure and as a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import Response
from sqlalchemy.orm import Session

from codec_superb.metrics.table import Category
from codec_superb.server.answers.cache import HTML, UnsentAnswer, cached, figure_answer
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.charts import against_rate, correlate, pickers, spread
from codec_superb.server.charts.choices import UnknownChoice
from codec_superb.server.database.session import database_of
from codec_superb.server.http.api_model import AcrossChoice, FigureAnswer
from codec_superb.server.people.page_context import public_page_context
from codec_superb.web.site.charts.choices import CHARTS, PICKERS, Cell, Chart, ChartState, DrawnChart, SourceChoice
from codec_superb.web.site.charts.page import charts_page
from codec_superb.web.spreadsheets import escape_formula

router = APIRouter()
_CSV = "text/csv; charset=utf-8"


def _state(
    category: Annotated[Category, Query(description="Category of the clips")] = "speech",
    metric: Annotated[str, Query(max_length=64, description="`score` or a metric's key")] = "",
    source: Annotated[SourceChoice, Query(description="Submissions or a published table")] = "",
    dataset: Annotated[str, Query(max_length=200, description="One dataset; all of them without")] = "",
    method: Annotated[Literal["pearson", "spearman"], Query(description="Kind of correlation")] = "pearson",
    application: Annotated[str, Query(max_length=64, description="Key of an application's metric")] = "",
    codec: Annotated[list[str] | None, Query(max_length=50, description="Codecs of a distribution, up to six")] = None,
    across: AcrossChoice = "",
) -> ChartState:
    """Read the choices; each chart takes those that it depends on."""
    names = tuple(dict.fromkeys(name.strip() for name in codec or () if name.strip()))
    return ChartState("rate", category, metric, source, dataset, method, application, names, across)


State = Annotated[ChartState, Depends(_state)]


@router.get("/charts", include_in_schema=False)
async def page(
    request: Request, state: State, chart: Annotated[Chart, Query(description="Which chart")] = "rate"
) -> Response:
    """Show one chart with its pickers, its table and what it says."""
    wanted = state.only(chart)

    def make(snapshot: Snapshot) -> UnsentAnswer:
        drawn, missing = _nearest(request, snapshot, wanted)
        names = pickers.codec_names(snapshot, drawn.state)
        page_context = public_page_context(request, drawn.title)
        return UnsentAnswer(
            charts_page(
                page_context, drawn, pickers.pickers(snapshot, drawn.state), names, missing,
                revision=str(snapshot.revision),
            ),
            HTML,
        )  # fmt: skip

    return await cached(request, f"{chart}?{wanted.query()}", make, counted=True)


ChartName = Annotated[Chart, Path(description=f"One of {', '.join(CHARTS)}")]


@router.get(
    "/api/v1/charts/{chart}.csv",
    tags=["charts"],
    response_class=Response,
    responses={200: {"content": {"text/csv": {}}}},
)
async def data(request: Request, chart: ChartName, state: State) -> Response:
    """Every number of a chart as CSV."""
    headers = {"Content-Disposition": f'attachment; filename="codec-superb-{chart}.csv"'}
    return await _answer(request, state.only(chart), lambda drawn: UnsentAnswer(_csv(drawn), _CSV, headers))


@router.get("/api/v1/charts/{chart}", tags=["charts"], responses={200: {"model": FigureAnswer}})
async def figure(request: Request, chart: ChartName, state: State) -> Response:
    """Draw a chart as a Plotly figure."""
    return await _answer(request, state.only(chart), lambda drawn: figure_answer(drawn.figure))


async def _answer(request: Request, state: ChartState, make: Callable[[DrawnChart], UnsentAnswer]) -> Response:
    """Answer from memory, or draw in a thread; a drawing counts as a computation."""
    key = f"{state.chart}?{state.query()}"
    return await cached(request, key, lambda snapshot: make(_draw(request, snapshot, state)), counted=True)


def _draw(request: Request, snapshot: Snapshot, state: ChartState) -> DrawnChart:
    if state.chart in _FROM_MEMORY:
        return _FROM_MEMORY[state.chart](snapshot, state)
    with database_of(request).transaction() as session:
        return _FROM_CLIPS[state.chart](snapshot, session, state)


def _nearest(request: Request, snapshot: Snapshot, state: ChartState) -> tuple[DrawnChart, list[str]]:
    """Draw for a page; a choice that another one excludes is reported and replaced by its default."""
    missing: list[str] = []
    while True:
        try:
            return _draw(request, snapshot, state), missing
        except UnknownChoice as gone:
            if len(missing) == len(PICKERS[state.chart]):
                raise
            missing.append(gone.detail)
            state = replace(state, **{gone.field: getattr(_USUAL, gone.field)})


_USUAL = ChartState()
_FROM_MEMORY: dict[Chart, Callable[[Snapshot, ChartState], DrawnChart]] = {
    "rate": against_rate.rate,
    "applications": against_rate.applications,
    "metrics": correlate.metrics,
}
_FROM_CLIPS: dict[Chart, Callable[[Snapshot, Session, ChartState], DrawnChart]] = {
    "clips": correlate.clips,
    "distribution": spread.distribution,
}


def _csv(drawn: DrawnChart) -> str:
    """Write the data as CSV (RFC 4180) with full precision: a row of names, then the rows.

    Unknown numbers stay empty, and no cell can be interpreted as a spreadsheet formula.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([column.name for column in drawn.data.columns])
    writer.writerows([[_cell(value) for value in row] for row in drawn.data.rows])
    return out.getvalue()


def _cell(value: Cell) -> Cell:
    # Spreadsheets run a cell that begins as a formula (OWASP: CSV injection).
    return escape_formula(value) if isinstance(value, str) else value
