"""``/codecs/{name}`` and what the API says of codecs: plain functions, so that they run in threads."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from codec_superb.metrics.table import Category
from codec_superb.server.chrome import chrome_of
from codec_superb.server.codecs import api_answers, repository, schemas, service
from codec_superb.server.codecs.answers import answer
from codec_superb.server.codecs.figures import distribution_figure, radar_figure
from codec_superb.server.codecs.pages import codec_view
from codec_superb.server.codecs.sample_endpoints import router as sample_router
from codec_superb.server.database.session import ReadTransaction
from codec_superb.server.people.limits import CountedComputation
from codec_superb.web.site.codec import codec_page

router = APIRouter()
router.include_router(sample_router)

Name = Annotated[str, Path(description="Name of the configuration, such as `opus_12k`.")]
CategoryChoice = Annotated[Category, Query(description="Category of the clips.")]
_REVALIDATE = "no-cache"
"""A browser asks each time, and gets 304 while nothing has changed."""
_MOST = 1000


@router.get("/codecs/{name}", include_in_schema=False)
def page(name: Name, request: Request, session: ReadTransaction) -> Response:
    """Everything that is public about one codec."""
    view = codec_view(request.app.state, session, name)
    chrome = chrome_of(request, view.title)
    html = codec_page(chrome, view).encode()
    keep = _REVALIDATE if chrome.account is None else "private, no-store"
    return answer(request, html, "text/html; charset=utf-8", keep)


@router.get("/api/v1/codecs", tags=["codecs"], summary="Codecs with public results")
def codecs(
    session: ReadTransaction,
    limit: Annotated[int, Query(ge=1, le=_MOST, description="Codecs in the answer.")] = 200,
    offset: Annotated[int, Query(ge=0, le=10**9, description="Codecs to leave out first.")] = 0,
) -> schemas.CodecList:
    """List the codecs with public results, by name, with the newest version of each."""
    rows = repository.page_of_codecs(session, limit, offset)
    total = repository.count_public(session)
    return schemas.CodecList(total=total, limit=limit, offset=offset, codecs=[api_answers.summary(row) for row in rows])


@router.get("/api/v1/codecs/{name}", tags=["codecs"], summary="One codec", response_model=schemas.CodecDetail)
def codec(name: Name, request: Request, session: ReadTransaction) -> Response:
    """Give a codec's card, results, provenance, samples and history, and what published tables say of it."""
    found = service.measured(session, name)
    view = codec_view(request.app.state, session, name)
    published = service.published_entries(name, found)
    body = (
        api_answers.literature_detail(view, published)
        if found is None
        else api_answers.detail(view, found.submission, found.card, published)
    )
    return answer(request, body.model_dump_json().encode(), "application/json", _REVALIDATE)


@router.get(
    "/api/v1/codecs/{name}/figures/radar", tags=["figures"], summary="Radar against the bitrate band",
    response_model=schemas.FigureAnswer,
)  # fmt: skip
def radar(
    name: Name, category: CategoryChoice, request: Request, session: ReadTransaction, _: CountedComputation
) -> Response:
    """Draw the codec's metrics against those of the codecs of about its bitrate."""
    body = radar_figure(session, service.measured_or_not_found(session, name), category)
    return answer(request, body, "application/json", _REVALIDATE)


@router.get(
    "/api/v1/codecs/{name}/figures/distribution", tags=["figures"], summary="Spread over the clips",
    response_model=schemas.FigureAnswer,
)  # fmt: skip
def distribution(
    name: Name,
    category: CategoryChoice,
    metric: Annotated[str, Query(max_length=64, description="Key of a metric.")],
    request: Request,
    session: ReadTransaction,
    _: CountedComputation,
    dataset: Annotated[str, Query(max_length=200, description="Name of one dataset; all of them without.")] = "",
) -> Response:
    """Draw which share of the clips is at least as good as each value of a metric, a line per dataset."""
    found = service.measured_or_not_found(session, name)
    body = distribution_figure(request.app.state, session, found, category, metric, dataset)
    return answer(request, body, "application/json", _REVALIDATE)
