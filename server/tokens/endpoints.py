"""The page ``/tokens`` and its charts."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from codec_superb.server.answers.cache import UnsentAnswer, cached, figure_answer
from codec_superb.server.answers.public import public_page
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.board.whose import SourceChoice, shown_on
from codec_superb.server.http.api_model import FigureAnswer
from codec_superb.server.tokens import service
from codec_superb.web.site.page import PageContext
from codec_superb.web.site.tokens.page import tokens_page

router = APIRouter()


@router.get("/tokens", include_in_schema=False)
async def page(
    request: Request,
    dataset: Annotated[
        str | None, Query(max_length=200, description="Name of a dataset; else that of most senders.")
    ] = None,
    source: SourceChoice = None,
) -> Response:
    """Show the codecs on one dataset by their tokens, and published perplexities apart."""

    def make(snapshot: Snapshot, page_context: PageContext) -> str:
        whose, found = shown_on(snapshot, source, dataset, service.has_figures)
        return tokens_page(service.view_of(found, dataset, whose), page_context)

    about = "How many tokens codecs give a second, how stable and how predictable they are."
    return await public_page(request, "Tokens", about, make, key=repr((dataset, source)))


@router.get("/api/v1/tokens/figures/rate", tags=["figures"], responses={200: {"model": FigureAnswer}})
async def rate(
    request: Request,
    figure: Annotated[str, Query(max_length=100, description="A figure of tokens, `tokens_…`.")],
    dataset: Annotated[str, Query(max_length=200, description="Name of a dataset.")],
    across: Annotated[
        Literal["tokens", "kbps", "entropy"], Query(description="Tokens a second, bitrate, or entropy-coded bitrate.")
    ] = "tokens",
    source: SourceChoice = None,
) -> Response:
    """Draw a figure of tokens against what they cost."""

    def make(snapshot: Snapshot) -> UnsentAnswer:
        _, found = shown_on(snapshot, source, dataset, service.has_figures)
        return figure_answer(service.rate_figure(found, figure, "" if across == "kbps" else across, dataset))

    return await cached(request, f"{figure} {across} {source} {dataset}", make, counted=True)


@router.get("/api/v1/tokens/figures/contents", tags=["figures"], responses={200: {"model": FigureAnswer}})
async def contents(
    request: Request,
    dataset: Annotated[str, Query(max_length=200, description="Name of a dataset.")],
    source: SourceChoice = None,
) -> Response:
    """Draw what tokens carry: phones told against speakers told."""

    def make(snapshot: Snapshot) -> UnsentAnswer:
        _, found = shown_on(snapshot, source, dataset, service.has_figures)
        return figure_answer(service.contents_figure(found, dataset))

    return await cached(request, f"{source} {dataset}", make, counted=True)
