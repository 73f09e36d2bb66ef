"""The page ``/xares``, its charts, and ``/api/v1/xares``."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from codec_superb.pipeline.literature.xares import (
    TRACKS,
    TrackName,
    xares_about,
    xares_average,
    xares_baselines,
    xares_board,
)
from codec_superb.server.answers.cache import JSON, UnsentAnswer, cached, figure_answer
from codec_superb.server.answers.public import public_page
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.board.whose import SourceChoice
from codec_superb.server.database.session import database_of
from codec_superb.server.http.api_model import AcrossChoice, FigureAnswer
from codec_superb.server.xares import schemas, service
from codec_superb.web.site.page import PageContext
from codec_superb.web.site.xares.page import xares_page
from codec_superb.web.xares.rows import XaresRow

router = APIRouter()

ReaderChoice = Annotated[
    str | None,
    Query(max_length=400, description="What reads the frames, by its title; without it that with most rows."),
]
ReaderTitle = Annotated[str, Query(max_length=400, description="What reads the frames, by its title.")]
_COPIED = tuple(name for name in schemas.XaresFigure.model_fields if name != "reader")


@router.get("/xares", include_in_schema=False)
async def page(request: Request, reader: ReaderChoice = None, source: SourceChoice = None) -> Response:
    """Show encoders beside codecs, and the published boards apart."""

    def make(snapshot: Snapshot, page_context: PageContext) -> str:
        with database_of(request).transaction() as session:
            whose, found = service.shown_by(session, snapshot, source, reader)
            return xares_page(service.view_of(session, found, reader, whose), page_context)

    about = "What is read out of the frames of encoders and of codecs, beside the published boards of XARES-LLM."
    return await public_page(request, "XARES", about, make, key=repr((reader, source)))


@router.get("/api/v1/xares", tags=["xares"], responses={200: {"model": schemas.XaresAnswer}})
async def rows(request: Request, reader: ReaderChoice = None, source: SourceChoice = None) -> Response:
    """Return what one reader reads: encoders, codecs as encoders, and resynthesised sound."""

    def make(snapshot: Snapshot) -> UnsentAnswer:
        with database_of(request).transaction() as session:
            whose, found = service.shown_by(session, snapshot, source, reader)
            view = service.view_of(session, found, reader, whose)
        body = schemas.XaresAnswer(
            source=whose.source, reader=view.chosen, readers=[of.title for of, _ in view.readers],
            figures=list(map(_figure, view.rows)),
        )  # fmt: skip
        return UnsentAnswer(body.model_dump_json(), JSON)

    return await cached(request, repr((reader, source)), make)


@router.get("/api/v1/xares/published", tags=["xares"], responses={200: {"model": schemas.PublishedBoards}})
async def published(request: Request) -> Response:
    """Return the published boards with the average of each row, and the publisher's baselines."""

    def make(_: Snapshot) -> UnsentAnswer:
        about = xares_about()
        body = schemas.PublishedBoards(
            **{name: about[name] for name in ("citation", "url", "date", "differs")}, boards=list(map(_board, TRACKS))
        )
        return UnsentAnswer(body.model_dump_json(), JSON)

    return await cached(request, "", make)


@router.get("/api/v1/xares/figures/rate", tags=["figures"], responses={200: {"model": FigureAnswer}})
async def rate(
    request: Request,
    reader: ReaderTitle,
    figure: Annotated[str, Query(max_length=100, description="Main figure of a task, `und_xares_…` or `xares_…`.")],
    dataset: Annotated[str, Query(max_length=200, description="Name of a dataset.")],
    across: AcrossChoice = "",
    source: SourceChoice = None,
) -> Response:
    """Draw a task against bits or tokens a second; continuous frames stand in a strip."""

    def make(snapshot: Snapshot) -> UnsentAnswer:
        with database_of(request).transaction() as session:
            _, found = service.shown_by(session, snapshot, source, reader)
            return figure_answer(service.rate_figure(session, found, reader, figure, dataset, across))

    return await cached(request, f"{reader!r} {figure} {across} {source} {dataset}", make, counted=True)


@router.get("/api/v1/xares/figures/heat", tags=["figures"], responses={200: {"model": FigureAnswer}})
async def heat(request: Request, reader: ReaderTitle, source: SourceChoice = None) -> Response:
    """Draw all tasks of a reader as a heat map."""

    def make(snapshot: Snapshot) -> UnsentAnswer:
        with database_of(request).transaction() as session:
            _, found = service.shown_by(session, snapshot, source, reader)
            return figure_answer(service.heat_figure(session, found, reader))

    return await cached(request, repr((reader, source)), make, counted=True)


@router.get("/api/v1/xares/figures/published", tags=["figures"], responses={200: {"model": FigureAnswer}})
async def published_heat(
    request: Request, track: Annotated[TrackName, Query(description="A published board.")]
) -> Response:
    """Draw a published board as a heat map, its baselines below the teams."""
    return await cached(request, track, lambda _: figure_answer(service.published_figure(track)), counted=True)


def _figure(row: XaresRow) -> schemas.XaresFigure:
    return schemas.XaresFigure(reader=row.reader.title, **{name: getattr(row, name) for name in _COPIED})


def _board(track: TrackName) -> schemas.PublishedBoard:
    about = xares_about()["boards"][track]
    teams = [
        schemas.PublishedTeam(
            team=of.model, average=of.average, computed=xares_average(track, of.figures), figures=of.figures
        )
        for of in xares_board(track)
    ]
    return schemas.PublishedBoard(
        track=track, title=about["title"], definition=about["definition"], teams=teams, baselines=xares_baselines(track)
    )
