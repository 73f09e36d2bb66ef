"""Pages and JSON resources that compare two to six codecs."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse

from codec_superb.server.chrome import chrome_of
from codec_superb.server.compare import service
from codec_superb.server.compare.clip import compared_clip
from codec_superb.server.compare.kept import kept_of
from codec_superb.server.compare.repository import public_names
from codec_superb.server.database.session import ReadTransaction
from codec_superb.server.errors import BadRequest, NotFound, ServerError
from codec_superb.server.people.access import Caller
from codec_superb.server.people.limits import check_limit
from codec_superb.web.figures.forest import forest_chart
from codec_superb.web.quantity import SCORE_KEY
from codec_superb.web.site import compare_page
from codec_superb.web.site.clip import ComparedClip
from codec_superb.web.site.compare import FEWEST, MOST, Comparison, metric_choices, quantity_of
from codec_superb.web.site.page import render

router = APIRouter()

Codecs = Annotated[
    list[str],
    Query(alias="codec", description="Name of a codec, two to six times; the first is the baseline", max_length=50),
]
MetricKey = Annotated[str, Query(description="`score` or a metric's key", max_length=64)]


@router.get("/api/v1/compare", tags=["compare"])
def comparison(request: Request, session: ReadTransaction, caller: Caller, codec: Codecs) -> Comparison:
    """Compare two to six codecs on the clips they share; every difference is codec minus baseline."""
    return _compare(request, session, caller, codec)


@router.get("/api/v1/compare/figure", tags=["compare"])
def comparison_figure(
    request: Request, session: ReadTransaction, caller: Caller, codec: Codecs, metric: MetricKey = SCORE_KEY
) -> JSONResponse:
    """Draw the differences of one metric, or of the overall score, as a Plotly figure."""
    found = _compare(request, session, caller, codec)
    choices = metric_choices(found)
    if metric not in {quantity.key for quantity in choices}:
        raise NotFound(f"no difference by {metric!r}; there are {', '.join(quantity.key for quantity in choices)}")
    quantity = compare_page.default_choice(metric, choices)
    figure = forest_chart(compare_page.forest_rows(found, metric), quantity, found.codecs[0].title)
    return JSONResponse(figure)


@router.get("/compare", include_in_schema=False)
def compare_codecs(
    request: Request,
    session: ReadTransaction,
    caller: Caller,
    codec: Annotated[list[str] | None, Query(max_length=50)] = None,
    metric: Annotated[str, Query(max_length=64)] = SCORE_KEY,
) -> HTMLResponse:
    """Show the comparison; the chooser alone while fewer than two codecs are named, and with what was wrong."""
    names = codec or []
    try:
        if len(service.wanted(names)) < FEWEST:
            service.find_submissions(session, service.wanted(names))
            return _chooser(request, session, names)
        found = _compare(request, session, caller, names)
    except (BadRequest, NotFound) as error:
        return _chooser(request, session, names, error)
    choices = metric_choices(found)
    quantity = compare_page.default_choice(metric, choices)
    clips_by = compare_page.clip_metric(found, quantity.key)
    title = " and ".join([", ".join(entry.title for entry in found.codecs[:-1]), found.codecs[-1].title])
    return HTMLResponse(
        render(
            "compare.html.j2",
            chrome_of(request, f"{title} compared"),
            comparison=found,
            chosen=[entry.name for entry in found.codecs],
            quantity=quantity,
            score=quantity_of(SCORE_KEY),
            choices=choices,
            lines=compare_page.gap_lines(found, quantity.key),
            clips_by=clips_by and quantity_of(clips_by),
            clip_lines=compare_page.clip_lines(found, clips_by),
            known=public_names(session),
            most=MOST,
            page=compare_page,
        )
    )


ClipId = Annotated[str, Query(description="Id of the clip", max_length=1000)]
DatasetName = Annotated[str, Query(description="Name of the dataset", max_length=200)]


@router.get("/api/v1/compare/clip", tags=["compare"])
def clip_rows(session: ReadTransaction, codec: Codecs, dataset: DatasetName, clip: ClipId) -> ComparedClip:
    """Answer with the rows of one clip, a column for each codec."""
    return compared_clip(session, service.find_submissions(session, service.wanted(codec)), dataset, clip)


@router.get("/compare/clip", include_in_schema=False)
def clip_page(
    request: Request, session: ReadTransaction, codec: Codecs, dataset: DatasetName, clip: ClipId
) -> HTMLResponse:
    """Show the rows of one clip."""
    names = service.wanted(codec)
    found = compared_clip(session, service.find_submissions(session, names), dataset, clip)
    return HTMLResponse(
        render(
            "compare_clip.html.j2",
            chrome_of(request, f"{found.clip} through {len(names)} codecs"),
            found=found,
            quantity_of=quantity_of,
            compare=compare_page.compare_url(names),
        )
    )


def _compare(request: Request, session: ReadTransaction, caller: Caller, names: list[str]) -> Comparison:
    return service.compare(
        session, names, kept_of(request), on_miss=lambda: check_limit(request, caller, "computations")
    )


def _chooser(
    request: Request, session: ReadTransaction, names: list[str], error: ServerError | None = None
) -> HTMLResponse:
    """Ask for codecs in a form that works without a script; what was typed stays in it."""
    chosen = list(dict.fromkeys(name.strip() for name in names if name.strip()))[:MOST]
    page = render(
        "compare_chooser.html.j2",
        chrome_of(request, "Compare codecs"),
        chosen=chosen,
        known=public_names(session),
        fewest=FEWEST,
        most=MOST,
        error=error,
    )
    return HTMLResponse(page, error.status if error else HTTPStatus.OK)
