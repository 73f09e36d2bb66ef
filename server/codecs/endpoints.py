"""The page ``/codecs/{name}`` and the codec resources of the API: answered from memory, or made in a thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, Response
from sqlalchemy.orm import Session

from codec_superb.metrics.table import Category
from codec_superb.server.answers.cache import HTML, JSON, UnsentAnswer, cached
from codec_superb.server.board.current import board_of
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.codecs import api_answers, schemas
from codec_superb.server.codecs.codec_caches import codec_caches
from codec_superb.server.codecs.figures import distribution_figure, locales_figure, radar_figure, spokes_figure
from codec_superb.server.codecs.pages import find
from codec_superb.server.codecs.sample_endpoints import moderation_router
from codec_superb.server.codecs.sample_endpoints import router as sample_router
from codec_superb.server.codecs.service import newest_results_or_not_found
from codec_superb.server.database.models import now
from codec_superb.server.database.session import database_of
from codec_superb.server.http.answer_turns import made_in_turn
from codec_superb.server.http.api_model import FigureAnswer
from codec_superb.server.listening_tests.summary import codec_lines
from codec_superb.server.people.page_context import page_context_of, public_page_context
from codec_superb.server.people.sessions import has_cookie
from codec_superb.web.mseb.heat import Shown
from codec_superb.web.site.codec.page import codec_page
from codec_superb.web.site.codec.view import CodecView
from codec_superb.web.site.listening_tests.view import CodecLine

router = APIRouter()
router.include_router(sample_router)
router.include_router(moderation_router)

Name = Annotated[str, Path(description="Name of the configuration, such as `opus_12k`.")]
CategoryChoice = Annotated[Category, Query(description="Category of the clips.")]
MetricKey = Annotated[str, Query(max_length=64, description="Key of a metric.")]
_MOST = 1000


@router.get("/codecs/{name}", include_in_schema=False)
async def page(name: Name, request: Request) -> Response:
    """Everything that is public about one codec."""
    if has_cookie(request):
        return await made_in_turn(request, _own_page, request, name)

    def make(snapshot: Snapshot) -> UnsentAnswer:
        with database_of(request).transaction() as session:
            view, heard = _found(request, session, snapshot, name)
        return UnsentAnswer(codec_page(public_page_context(request, view.title), view, heard), HTML)

    return await cached(request, now().date().isoformat(), make)  # the day is in the citation


def _found(request: Request, session: Session, snapshot: Snapshot, name: str) -> tuple[CodecView, Sequence[CodecLine]]:
    found = find(request.app.state, session, snapshot, name)
    shown = None if found.measured is None else found.measured.submission.id
    return found.view, codec_lines(session, name, shown, codec_caches(request.app.state).heard)


def _own_page(request: Request, name: str) -> Response:
    """Make the page in the frame of the logged-in moderator."""
    with database_of(request).transaction() as session:
        view, heard = _found(request, session, board_of(request).current, name)
    html = codec_page(page_context_of(request, view.title), view, heard)
    return HTMLResponse(html, headers={"Cache-Control": "private, no-store"})


@router.get("/api/v1/codecs", tags=["codecs"], responses={200: {"model": schemas.CodecList}})
async def codecs(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=_MOST, description="Codecs in the answer.")] = 200,
    offset: Annotated[int, Query(ge=0, le=10**9, description="Codecs to leave out first.")] = 0,
) -> Response:
    """List the codecs with public results, by name, with the newest version of each."""

    def make(snapshot: Snapshot) -> UnsentAnswer:
        chosen = [api_answers.summary(entry) for entry in snapshot.runs[offset : offset + limit]]
        body = schemas.CodecList(total=len(snapshot.runs), limit=limit, offset=offset, codecs=chosen)
        return UnsentAnswer(body.model_dump_json(), JSON)

    return await cached(request, f"{limit} {offset}", make)


@router.get("/api/v1/codecs/{name}", tags=["codecs"], responses={200: {"model": schemas.CodecDetail}})
async def codec(name: Name, request: Request) -> Response:
    """Return a codec's card, results, provenance, samples and history, and its figures in published tables."""

    def make(snapshot: Snapshot) -> UnsentAnswer:
        with database_of(request).transaction() as session:
            found = find(request.app.state, session, snapshot, name)
            return UnsentAnswer(api_answers.detail(found).model_dump_json(), JSON)

    return await cached(request, "", make)


@router.get("/api/v1/codecs/{name}/figures/radar", tags=["figures"], responses={200: {"model": FigureAnswer}})
async def radar(name: Name, category: CategoryChoice, request: Request) -> Response:
    """Draw the codec's metrics against those of the codecs of about its bitrate, as a Plotly figure."""

    def make(snapshot: Snapshot) -> UnsentAnswer:
        with database_of(request).transaction() as session:
            return UnsentAnswer(
                radar_figure(snapshot, newest_results_or_not_found(session, snapshot, name), category), JSON
            )

    return await cached(request, category, make, counted=True)


@router.get("/api/v1/codecs/{name}/figures/distribution", tags=["figures"], responses={200: {"model": FigureAnswer}})
async def distribution(
    name: Name,
    category: CategoryChoice,
    metric: MetricKey,
    request: Request,
    dataset: Annotated[str, Query(max_length=200, description="Name of one dataset; all of them without.")] = "",
) -> Response:
    """Draw which share of the clips is at least as good as each value of a metric, a line per dataset."""

    def make(snapshot: Snapshot) -> UnsentAnswer:
        with database_of(request).transaction() as session:
            found = newest_results_or_not_found(session, snapshot, name)
            return UnsentAnswer(distribution_figure(request.app.state, session, found, category, metric, dataset), JSON)

    return await cached(request, f"{category} {metric} {dataset}", make, counted=True)


@router.get("/api/v1/codecs/{name}/figures/spokes", tags=["figures"], responses={200: {"model": FigureAnswer}})
async def spokes(name: Name, request: Request) -> Response:
    """Draw the super tasks of MSEB as eight spokes: the original sound, the resynthesis, and what is missing."""

    def make(snapshot: Snapshot) -> UnsentAnswer:
        with database_of(request).transaction() as session:
            return UnsentAnswer(spokes_figure(newest_results_or_not_found(session, snapshot, name)), JSON)

    return await cached(request, "", make, counted=True)


@router.get("/api/v1/codecs/{name}/figures/locales", tags=["figures"], responses={200: {"model": FigureAnswer}})
async def locales(
    name: Name,
    figure: Annotated[str, Query(max_length=100, description="Key of an application's metric.")],
    request: Request,
    model: Annotated[str, Query(max_length=200, description="Model that answered; any without.")] = "",
    shown: Annotated[Shown, Query(description="The value, or what is lost of it.")] = "value",
) -> Response:
    """Draw a figure by dataset and recording condition as a heat map."""

    def make(snapshot: Snapshot) -> UnsentAnswer:
        with database_of(request).transaction() as session:
            found = newest_results_or_not_found(session, snapshot, name)
            return UnsentAnswer(locales_figure(found, figure, model, shown), JSON)

    return await cached(request, f"{figure} {model} {shown}", make, counted=True)


@router.get("/api/v1/codecs/{name}/mseb", tags=["mseb"], responses={200: {"model": schemas.CodecMseb}})
async def mseb(name: Name, request: Request) -> Response:
    """Return a codec's figures of MSEB on every dataset, and on the clips of each recording condition."""

    def make(snapshot: Snapshot) -> UnsentAnswer:
        with database_of(request).transaction() as session:
            found = newest_results_or_not_found(session, snapshot, name)
            return UnsentAnswer(api_answers.mseb(found).model_dump_json(), JSON)

    return await cached(request, "", make)
