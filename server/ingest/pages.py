"""``/submit``: the upload page; its form works without JavaScript and answers with a page."""

from __future__ import annotations

from collections.abc import Mapping

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from codec_superb.server.errors import ServerError
from codec_superb.server.ingest.callers import bearer, count_upload
from codec_superb.server.ingest.form import TOKEN
from codec_superb.server.ingest.places import places_of
from codec_superb.server.ingest.receive import receive
from codec_superb.server.ingest.schemas import Receipt
from codec_superb.server.ingest.service import check_permission, ingest
from codec_superb.server.people.access import ANONYMOUS, Identity
from codec_superb.server.people.limits import sender
from codec_superb.server.people.page_context import page_context_of
from codec_superb.server.settings import Settings
from codec_superb.web.site.page import render

router = APIRouter(include_in_schema=False)


@router.get("/submit", response_class=HTMLResponse)
def form(request: Request) -> HTMLResponse:
    """Show how to submit, and the form."""
    return _page(request, 200)


@router.post("/submit", response_class=HTMLResponse)
async def send(request: Request) -> HTMLResponse:
    """Take the form as a browser without JavaScript sends it; the page reports the outcome."""
    try:
        receipt, new = await _take(request)
    except ServerError as error:
        return _page(request, error.status, error=error)
    return _page(request, 201 if new else 200, receipt=receipt, new=new)


async def _take(request: Request) -> tuple[Receipt, bool]:
    """Look at the token, a field of the same form, when the file begins: the rest comes only from who may send it."""
    settings: Settings = request.app.state.settings
    caller = Identity(None, ANONYMOUS)
    with places_of(request.app).hold(sender(request, caller), known=False) as place:

        async def admit(fields: Mapping[str, str]) -> None:
            nonlocal caller
            caller = await run_sync(bearer, request, fields.get(TOKEN, ""))
            check_permission(settings, caller)
            await run_sync(count_upload, request, caller)
            place.belongs_to(sender(request, caller), known=not caller.anonymous)

        async with receive(request, settings, admit) as received:
            return await ingest(request, received, caller)


def _page(
    request: Request,
    status: int,
    *,
    receipt: Receipt | None = None,
    new: bool = False,
    error: ServerError | None = None,
) -> HTMLResponse:
    settings: Settings = request.app.state.settings
    page = render(
        "submit.html.j2",
        page_context_of(request, "Submit results"),
        receipt=receipt,
        new=new,
        error=error,
        anonymous=settings.anonymous_uploads,
        limit=settings.upload_limit,
        server=settings.base_url,
    )
    return HTMLResponse(page, status, error.headers if error else None)
