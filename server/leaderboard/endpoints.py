"""API endpoints of the leaderboard: rows, CSV, Parquet and a chart for the state in the address, all from memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from codec_superb.server.answers.cache import JSON, UnsentAnswer, cached, figure_answer
from codec_superb.server.board.current import board_of
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.http.api_model import FigureAnswer
from codec_superb.server.leaderboard import answers, exports
from codec_superb.server.leaderboard.schemas import BoardAnswer
from codec_superb.server.leaderboard.select import quantity_of, select, select_all
from codec_superb.server.leaderboard.state import STATE_PARAMETERS, parse
from codec_superb.web.figures.board import board_chart
from codec_superb.web.site.board.choices import BoardState, BoardView, to_query

router = APIRouter(prefix="/api/v1/leaderboard", tags=["leaderboard"])
_CSV, _PARQUET = "text/csv; charset=utf-8", "application/vnd.apache.parquet"
Make = Callable[[Snapshot, BoardState], UnsentAnswer]
_FILE: dict[str, Any] = {"type": "string", "format": "binary"}


def state_of(request: Request) -> BoardState:
    """Read what the visitor chose from the address. Raises BadRequest, naming the choices."""
    snapshot = board_of(request).current
    return parse(
        request.query_params.multi_items(),
        default_source=snapshot.default_source,
        datasets={*snapshot.datasets("all"), *snapshot.datasets("runs"), *snapshot.datasets("verified")},
    )


async def answer(request: Request, make: Make, *, counted: bool = False, quick: bool = False) -> Response:
    """Answer from memory, or with what ``make`` gives for the state in the address; pages use it too."""
    state = state_of(request)
    key = to_query(state, board_of(request).current.default_source(state.category, state.metric))
    return await cached(request, key, lambda snapshot: make(snapshot, state), counted=counted, quick=quick)


@router.get("", responses={200: {"model": BoardAnswer}}, openapi_extra=STATE_PARAMETERS)
async def leaderboard(request: Request) -> Response:
    """One page of the leaderboard as chosen: rows with intervals and ranks, and what else can be chosen."""
    return await answer(
        request, lambda snapshot, state: UnsentAnswer(answers.board_json(select(snapshot, state)), JSON), quick=True
    )


@router.get("/chart", responses={200: {"model": FigureAnswer}}, openapi_extra=STATE_PARAMETERS)
async def chart(request: Request) -> Response:
    """Bitrate against the chosen quantity for all rows that pass the filters, as a Plotly figure."""
    return await answer(request, _chart, counted=True)


def _chart(snapshot: Snapshot, state: BoardState) -> UnsentAnswer:
    view = select_all(snapshot, state)
    return figure_answer(board_chart(view.rows, quantity_of(state.metric)))


@router.get(".json", responses={200: {"model": BoardAnswer}}, openapi_extra=STATE_PARAMETERS)
async def as_json(request: Request) -> Response:
    """Every row that passes the filters, in order, as a file."""
    return await answer(request, _file(answers.board_json, "json", JSON), counted=True)


@router.get(
    ".csv",
    response_class=Response,
    responses={200: {"content": {"text/csv": {"schema": _FILE}}}},
    openapi_extra=STATE_PARAMETERS,
)
async def as_csv(request: Request) -> Response:
    """Every row that passes the filters, in order; the first line says what was chosen, the second names columns."""
    return await answer(request, _file(exports.board_csv, "csv", _CSV), counted=True)


@router.get(
    ".parquet",
    response_class=Response,
    responses={200: {"content": {_PARQUET: {"schema": _FILE}}}},
    openapi_extra=STATE_PARAMETERS,
)
async def as_parquet(request: Request) -> Response:
    """Every row that passes the filters, in order; the file's metadata say what was chosen."""
    return await answer(request, _file(exports.board_parquet, "parquet", _PARQUET), counted=True)


def _file(write: Callable[[BoardView], bytes | str], ending: str, media_type: str) -> Make:
    """Make the answer a file of all rows."""

    def make(snapshot: Snapshot, state: BoardState) -> UnsentAnswer:
        view = select_all(snapshot, state)
        name = f"codec-superb-{state.category}-{view.revision}.{ending}"
        return UnsentAnswer(write(view), media_type, {"Content-Disposition": f'attachment; filename="{name}"'})

    return make
