"""Pages and JSON resources that compare two to six codecs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import TypeAdapter

from codec_superb.server.answers.cache import HTML, JSON, UnsentAnswer, cached, figure_answer
from codec_superb.server.compare import service
from codec_superb.server.compare.clip import compared_clip
from codec_superb.server.compare.repository import public_names
from codec_superb.server.database.session import ReadTransaction, database_of
from codec_superb.server.errors import BadRequest, NotFound, ServerError
from codec_superb.server.http.answer_turns import made_in_turn
from codec_superb.server.http.api_model import FigureAnswer
from codec_superb.server.http.single_flight import comparison_cache
from codec_superb.server.people.limits import CountedComputation
from codec_superb.server.people.page_context import page_context_of, public_page_context
from codec_superb.web.figures.forest import forest_chart
from codec_superb.web.quantity import SCORE_KEY
from codec_superb.web.site.clip import ComparedClip
from codec_superb.web.site.compare import page as compare_page
from codec_superb.web.site.compare.applications import application_tables
from codec_superb.web.site.compare.view import FEWEST, MOST, Comparison, metric_choices, quantity_of
from codec_superb.web.site.page import render

router = APIRouter()
_JSON = TypeAdapter(Comparison)

Codecs = Annotated[
    list[str],
    Query(
        alias="codec",
        description="Name of a codec, two to six times; the first is the baseline",
        max_length=50,
        json_schema_extra={
            "minItems": FEWEST,
            "maxItems": MOST,
            "uniqueItems": True,
            "items": {"type": "string", "pattern": r"^\S+$"},
        },
    ),
]
MetricKey = Annotated[str, Query(description="`score` or a metric's key", max_length=64)]


@router.get("/api/v1/compare", tags=["compare"], responses={200: {"model": Comparison}})
async def comparison(request: Request, codec: Codecs) -> Response:
    """Compare two to six codecs on the clips they share; every difference is codec minus baseline."""
    return await cached(request, _key(codec), lambda _: _as_json(request, codec), counted=True)


@router.get("/api/v1/compare/figure", tags=["compare"], responses={200: {"model": FigureAnswer}})
async def comparison_figure(request: Request, codec: Codecs, metric: MetricKey = SCORE_KEY) -> Response:
    """Draw the differences of one metric, or of the overall score, as a Plotly figure."""
    return await cached(request, _key(codec, metric), lambda _: _figure(request, codec, metric), counted=True)


@router.get("/compare", include_in_schema=False)
async def compare_codecs(
    request: Request,
    codec: Annotated[list[str] | None, Query(max_length=50)] = None,
    metric: Annotated[str, Query(max_length=64)] = SCORE_KEY,
    choose: Annotated[bool, Query()] = False,
) -> Response:
    """Show the comparison; the chooser while fewer than two codecs are named, on demand, and with what was wrong."""
    names = codec or []
    try:
        if choose:
            return await cached(request, f"choose {_key(names)}", lambda _: _chooser(request, names))
        compares = len(set(names)) >= FEWEST  # else it is the chooser again
        return await cached(request, _key(names, metric), lambda _: _page(request, names, metric), counted=compares)
    except (BadRequest, NotFound) as error:
        page = await made_in_turn(request, _chooser, request, names, error)
        return HTMLResponse(page.body, error.status)


def _as_json(request: Request, names: list[str]) -> UnsentAnswer:
    return UnsentAnswer(_JSON.dump_json(_compare(request, names)), JSON)


def _figure(request: Request, names: list[str], metric: str) -> UnsentAnswer:
    found = _compare(request, names)
    choices = metric_choices(found)
    if metric not in {quantity.key for quantity in choices}:
        raise NotFound(f"no difference by {metric!r}; there are {', '.join(quantity.key for quantity in choices)}")
    quantity = compare_page.default_choice(metric, choices)
    return figure_answer(forest_chart(compare_page.forest_rows(found, metric), quantity, found.codecs[0].title))


def _page(request: Request, names: list[str], metric: str) -> UnsentAnswer:
    chosen = service.cleaned_names(names)
    if len(chosen) < FEWEST:
        with database_of(request).transaction() as session:
            service.find_submissions(session, chosen)
        return _chooser(request, names)
    found = _compare(request, names)
    choices = metric_choices(found)
    quantity = compare_page.default_choice(metric, choices)
    clips_by = compare_page.clip_metric(found, quantity.key)
    title = " and ".join([", ".join(entry.title for entry in found.codecs[:-1]), found.codecs[-1].title])
    page = render(
        "compare.html.j2",
        public_page_context(request, f"{title} compared"),
        comparison=found,
        chosen=[entry.name for entry in found.codecs],
        quantity=quantity,
        score=quantity_of(SCORE_KEY),
        choices=choices,
        lines=compare_page.gap_lines(found, quantity.key),
        clips_by=clips_by and quantity_of(clips_by),
        clip_lines=compare_page.clip_lines(found, clips_by),
        application_tables=application_tables(found),
        most=MOST,
        page=compare_page,
    )
    return UnsentAnswer(page, HTML)


ClipId = Annotated[str, Query(description="Id of the clip", max_length=1000)]
DatasetName = Annotated[str, Query(description="Name of the dataset", max_length=200)]


@router.get("/api/v1/compare/clip", tags=["compare"])
def clip_rows(
    _counted: CountedComputation,
    session: ReadTransaction,
    codec: Codecs,
    dataset: DatasetName,
    clip: ClipId,
) -> ComparedClip:
    """Answer with the rows of one clip, a column for each codec."""
    return compared_clip(session, service.find_submissions(session, service.cleaned_names(codec)), dataset, clip)


@router.get("/compare/clip", include_in_schema=False)
def clip_page(
    request: Request,
    _counted: CountedComputation,
    session: ReadTransaction,
    codec: Codecs,
    dataset: DatasetName,
    clip: ClipId,
) -> HTMLResponse:
    """Show the rows of one clip."""
    names = service.cleaned_names(codec)
    found = compared_clip(session, service.find_submissions(session, names), dataset, clip)
    return HTMLResponse(
        render(
            "compare_clip.html.j2",
            page_context_of(request, f"{found.clip} through {len(names)} codecs"),
            found=found,
            quantity_of=quantity_of,
            compare=compare_page.compare_url(names),
        )
    )


def _key(names: list[str], metric: str = "") -> str:
    """Write what an answer depends on beside its path."""
    return compare_page.compare_url(service.cleaned_names(names, most=None), "", metric=metric)


def _compare(request: Request, names: list[str]) -> Comparison:
    with database_of(request).transaction() as session:
        return service.compare(session, names, comparison_cache(request))


def _chooser(request: Request, names: list[str], error: ServerError | None = None) -> UnsentAnswer:
    """Render the form that asks for codecs; it works without a script and keeps its input."""
    with database_of(request).transaction() as session:
        known = public_names(session)
    page = render(
        "compare_chooser.html.j2",
        public_page_context(request, "Compare codecs"),
        chosen=service.cleaned_names(names, most=None)[:MOST],
        known=known,
        fewest=FEWEST,
        most=MOST,
        error=error,
    )
    return UnsentAnswer(page, HTML)
