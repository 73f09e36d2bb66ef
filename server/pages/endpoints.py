"""Endpoints of the explanatory pages, and of ``robots.txt`` and ``favicon.ico``."""

from __future__ import annotations

import json
from threading import Lock

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import PlainTextResponse, Response

from codec_superb.pipeline.literature.tables import literature
from codec_superb.server.answers.cache import JSON, UnsentAnswer, encode_answer, respond
from codec_superb.server.answers.public import public_page
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.database.session import database_of
from codec_superb.server.http.answer_turns import made_in_turn
from codec_superb.server.pages.datasets import dataset_views
from codec_superb.server.settings import Settings
from codec_superb.web.site.about_page import PublishedSource, about_page
from codec_superb.web.site.api_page import api_page
from codec_superb.web.site.assets import asset_named
from codec_superb.web.site.datasets_page import datasets_page
from codec_superb.web.site.metrics_page import metrics_page
from codec_superb.web.site.page import PageContext

router = APIRouter(include_in_schema=False)
_WRITING = Lock()
"""Of the OpenAPI document: whoever asks for it while it is written takes that."""
_A_DAY = {"Cache-Control": "public, max-age=86400"}
_ROBOTS = """\
User-agent: *
Disallow: /api/
Disallow: /login
Disallow: /moderation
Disallow: /*?
"""
"""Every combination of filters has an address, too many for a crawler."""


@router.get("/datasets")
async def datasets(request: Request) -> Response:
    """Show all datasets."""
    database = database_of(request)

    def make(snapshot: Snapshot, page_context: PageContext) -> str:
        with database.transaction() as session:
            return datasets_page(dataset_views(session, snapshot), page_context)

    about = "Datasets of the benchmark: categories, clips, licences, and which of them submissions are checked against."
    return await public_page(request, "Datasets", about, make)


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Show the metric table."""
    about = "Definitions of every metric, of the overall score, and of intervals and ranks."
    return await public_page(request, "Metrics", about, lambda _, page_context: metrics_page(page_context))


@router.get("/about")
async def about(request: Request) -> Response:
    """Show what the benchmark is and how its numbers are made."""
    settings: Settings = request.app.state.settings

    def make(_: Snapshot, page_context: PageContext) -> str:
        return about_page(_sources(), page_context, anonymous_uploads=settings.anonymous_uploads)

    words = "What Codec-SUPERB is, how its numbers are made and checked, and whose published figures it shows."
    return await public_page(request, "About", words, make)


def _sources() -> list[PublishedSource]:
    return [
        PublishedSource(
            name=table.name,
            label=table.label,
            title=table.title,
            citation=table.citation,
            url=table.url,
            differs=table.differs,
            codecs=len(table.codecs),
        )
        for table in literature()
    ]


@router.get("/api/docs")
async def api_docs(request: Request) -> Response:
    """Describe the API in words, from the OpenAPI document."""
    settings: Settings = request.app.state.settings
    app, server = request.app, settings.base_url.rstrip("/")
    about = "Paths, parameters and answers of the API of the leaderboard, with examples."
    return await public_page(request, "API", about, lambda _, context: api_page(app.openapi(), server, context))


@router.get("/api/openapi.json")
async def openapi_document(request: Request) -> Response:
    """Answer with the OpenAPI document, which is written and compressed once."""
    app = request.app
    if not hasattr(app.state, "openapi"):  # it takes 0.6 s
        await made_in_turn(request, _write_openapi, app)
    return await respond(request, app.state.openapi)


def _write_openapi(app: FastAPI) -> None:
    with _WRITING:
        if not hasattr(app.state, "openapi"):
            document = json.dumps(app.openapi(), separators=(",", ":"))
            app.state.openapi = encode_answer(UnsentAnswer(document, JSON))


@router.get("/robots.txt")
async def robots() -> Response:
    """Let robots read pages, not every combination of filters."""
    # RFC 9309: plain text in UTF-8 at this very path
    return PlainTextResponse(_ROBOTS, headers=_A_DAY)


# HTML standard, link type icon: browsers may ask for /favicon.ico where a page names no icon
@router.get("/favicon.ico")
@router.get("/favicon.svg")
async def favicon() -> Response:
    """Answer browsers that request the icon without a link to it."""
    picture = asset_named("favicon.svg")
    return Response(picture.content, media_type=picture.media_type, headers=_A_DAY)
