"""The page ``/understanding`` and its chart."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from codec_superb.server.answers.cache import JSON, UnsentAnswer, cached, figure_answer
from codec_superb.server.answers.public import public_page
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.board.whose import SourceChoice, shown_on
from codec_superb.server.database.session import database_of
from codec_superb.server.http.api_model import AcrossChoice, FigureAnswer
from codec_superb.server.understanding import schemas, service
from codec_superb.web.site.page import PageContext
from codec_superb.web.site.understanding.page import understanding_page

router = APIRouter()


@router.get("/understanding", include_in_schema=False)
async def page(
    request: Request,
    dataset: Annotated[str | None, Query(max_length=200, description="Name of a dataset; else that with most.")] = None,
    source: SourceChoice = None,
) -> Response:
    """Show the codecs on one dataset by task, and the published averages apart."""

    def make(snapshot: Snapshot, page_context: PageContext) -> str:
        with database_of(request).transaction() as session:
            return understanding_page(service.view_of(session, snapshot, dataset, source), page_context)

    about = "What a model still understands of the sound of codecs, beside the published averages of UltraEval-Audio."
    return await public_page(request, "Understanding", about, make, key=repr((dataset, source)))


@router.get(
    "/api/v1/understanding/published", tags=["understanding"], responses={200: {"model": schemas.PublishedModels}}
)
async def published(request: Request) -> Response:
    """Return the figures of imported models: published, not made here."""

    def make(_: Snapshot) -> UnsentAnswer:
        with database_of(request).transaction() as session:
            found = service.published_figures(session)
        body = schemas.PublishedModels(figures=[schemas.PublishedModelFigure(**each._asdict()) for each in found])
        return UnsentAnswer(body.model_dump_json(), JSON)

    return await cached(request, "", make)


@router.get("/api/v1/understanding/figures/rate", tags=["figures"], responses={200: {"model": FigureAnswer}})
async def rate(
    request: Request,
    figure: Annotated[str, Query(max_length=100, description="Main figure of a task, `und_…`.")],
    dataset: Annotated[str, Query(max_length=200, description="Name of a dataset.")],
    across: AcrossChoice = "",
    source: SourceChoice = None,
) -> Response:
    """Draw a task's main figure against an axis, with the original sound and guessing as lines."""

    def make(snapshot: Snapshot) -> UnsentAnswer:
        _, found = shown_on(snapshot, source, dataset, service.has_figures)
        return figure_answer(service.rate_figure(found, figure, dataset, across))

    return await cached(request, f"{figure} {across} {source} {dataset}", make, counted=True)
