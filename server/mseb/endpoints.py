"""The page ``/mseb``, its charts, and ``/api/v1/mseb``."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from codec_superb.pipeline.literature.mseb import mseb_about
from codec_superb.server.answers.cache import JSON, UnsentAnswer, cached, figure_answer
from codec_superb.server.answers.public import public_page
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.board.whose import SourceChoice, datasets_with, shown_on
from codec_superb.server.database.session import database_of
from codec_superb.server.http.api_model import AcrossChoice, FigureAnswer
from codec_superb.server.leaderboard.answers import application_answer
from codec_superb.server.mseb import schemas, service
from codec_superb.web.site.mseb.page import mseb_page
from codec_superb.web.site.page import PageContext

router = APIRouter()

DatasetChoice = Annotated[
    str | None,
    Query(
        max_length=200,
        description="Name of a dataset; without it that of most senders, over all locales where as many have them.",
    ),
]
FigureKey = Annotated[str, Query(max_length=100, description="Main figure of a super task, `mseb_…`.")]


@router.get("/mseb", include_in_schema=False)
async def page(request: Request, dataset: DatasetChoice = None, source: SourceChoice = None) -> Response:
    """Show the codecs on one dataset, and the published encoders apart."""

    def make(snapshot: Snapshot, page_context: PageContext) -> str:
        whose, found = shown_on(snapshot, source, dataset, service.has_figures)
        with database_of(request).transaction() as session:
            return mseb_page(service.view_of(session, found, dataset, whose), page_context)

    about = "What the sound of codecs is still good for: the eight super tasks of MSEB, beside its published encoders."
    return await public_page(request, "MSEB", about, make, key=repr((dataset, source)))


@router.get("/api/v1/mseb", tags=["mseb"], responses={200: {"model": schemas.MsebAnswer}})
async def codecs(request: Request, dataset: DatasetChoice = None, source: SourceChoice = None) -> Response:
    """Return the figures of MSEB's super tasks of all codecs on one dataset."""

    def make(snapshot: Snapshot) -> UnsentAnswer:
        whose, found = shown_on(snapshot, source, dataset, service.has_figures)
        chosen, measured, columns = service.columns_on(found, dataset)
        body = schemas.MsebAnswer(
            source=whose.source,
            dataset=chosen,
            datasets=[name for name, _ in datasets_with(found, service.has_figures)],
            tasks=[
                schemas.SuperTask(
                    task=column.task, figure=column.quantity.key, model=column.model.backend,
                    reference=column.ceiling, oracle=column.oracle,
                )
                for column in columns
            ],
            codecs=[
                schemas.CodecFigures(
                    codec=result.codec, kbps=service.rate_of(rows),
                    figures={row.numbers.figure: application_answer(row) for row in rows},
                )
                for result, rows in measured
            ],
        )  # fmt: skip
        return UnsentAnswer(body.model_dump_json(), JSON)

    return await cached(request, repr((dataset, source)), make)


@router.get("/api/v1/mseb/published", tags=["mseb"], responses={200: {"model": schemas.PublishedAnswer}})
async def published(request: Request) -> Response:
    """Return the means over locales of every published encoder, with the locales that they lack."""

    def make(_: Snapshot) -> UnsentAnswer:
        with database_of(request).transaction() as session:
            found = service.published_summaries(session)
        about = mseb_about()
        body = schemas.PublishedAnswer(
            **{name: about[name] for name in ("citation", "url", "date", "differs")},
            figures=[
                schemas.PublishedFigure(
                    encoder=each.encoder, task=each.task, type=each.type, sub_task=each.sub_task, metric=each.metric,
                    mean=each.mean, lowest=schemas.Extreme(locale=each.lowest[0], value=each.lowest[1]),
                    highest=schemas.Extreme(locale=each.highest[0], value=each.highest[1]), locales=each.n,
                    missing=list(each.missing), source=its,
                )
                for each, its in found
            ],
        )  # fmt: skip
        return UnsentAnswer(body.model_dump_json(), JSON)

    return await cached(request, "", make)


@router.get("/api/v1/mseb/figures/rate", tags=["figures"], responses={200: {"model": FigureAnswer}})
async def rate(
    request: Request,
    figure: FigureKey,
    dataset: Annotated[str, Query(max_length=200, description="Name of a dataset; '' for all locales.")] = "",
    across: AcrossChoice = "",
    source: SourceChoice = None,
) -> Response:
    """Draw a super task's main figure against an axis, with the original sound and the true transcripts as lines."""

    def make(snapshot: Snapshot) -> UnsentAnswer:
        _, found = shown_on(snapshot, source, dataset, service.has_figures)
        return figure_answer(service.rate_figure(found, figure, dataset, across))

    return await cached(request, f"{figure} {across} {source} {dataset}", make, counted=True)
