"""Answers with a public page from the cache; a logged-in moderator gets an uncached page with moderation tools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from codec_superb.server.answers.cache import HTML, UnsentAnswer, cached, count_computation
from codec_superb.server.board.current import board_of
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.http.answer_turns import made_in_turn
from codec_superb.server.people.page_context import page_context_of, public_page_context
from codec_superb.server.people.sessions import has_cookie
from codec_superb.web.site.page import PageContext

MakePage = Callable[[Snapshot, PageContext], str]


async def public_page(
    request: Request, title: str, description: str, make: MakePage, *, key: str = "", quick: bool = False,
    counted: bool = False,
) -> Response:  # fmt: skip
    """Answer with what ``make`` gives for the current public data; ``key`` is all of the query that it depends on.

    ``quick`` and ``counted`` as in :func:`cached`.
    """
    # a page with a moderator's tools must never be kept for others
    if has_cookie(request):
        if counted:
            await count_computation(request)
        return await made_in_turn(request, _personal, request, title, description, make)
    page_context = replace(public_page_context(request, title), description=description)

    def answer(snapshot: Snapshot) -> UnsentAnswer:
        # kept as long as the snapshot: with an older revision in it an open page would be loaded anew without end
        return UnsentAnswer(make(snapshot, replace(page_context, revision=str(snapshot.revision))), HTML)

    return await cached(request, key, answer, quick=quick, counted=counted)


def _personal(request: Request, title: str, description: str, make: MakePage) -> Response:
    page_context = replace(page_context_of(request, title), description=description)
    return HTMLResponse(make(board_of(request).current, page_context))
