"""``POST /api/v1/submissions``: send a submission file."""

from __future__ import annotations

from typing import Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response

from codec_superb.server.http.error_answers import error_responses
from codec_superb.server.ingest.callers import caller_of, count_upload
from codec_superb.server.ingest.places import places_of
from codec_superb.server.ingest.receive import FORM, RAW, receive
from codec_superb.server.ingest.schemas import Receipt
from codec_superb.server.ingest.service import check_permission, ingest
from codec_superb.server.people.limits import sender

router = APIRouter()

_BINARY = {"type": "string", "format": "binary"}
_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        FORM: {"schema": {"type": "object", "required": ["file"], "properties": {"file": _BINARY}}},
        RAW[0]: {"schema": _BINARY},
    },
}
_ERRORS = {
    400: "no such form, or no file in it",
    401: "no token, and anonymous uploads are off",
    403: "a token without the scope submit",
    409: "the codec's name belongs to another account",
    413: "larger than the limit",
    422: "the submission has problems, all of which are listed",
    429: "too many uploads; Retry-After says when to go on",
    503: "all workers are busy; Retry-After says when to try again",
}


@router.post(
    "/api/v1/submissions",
    status_code=201,
    tags=["submissions"],
    openapi_extra={"requestBody": _BODY},
    responses={
        200: {"model": Receipt, "description": "this very file was accepted before: nothing has changed"},
        **error_responses(_ERRORS),
    },
)
async def upload(request: Request, response: Response) -> Receipt:
    """Send a submission file, as a form field ``file`` or as the body itself; the same file again changes nothing."""
    settings = request.app.state.settings
    caller = await run_sync(caller_of, request)
    check_permission(settings, caller)
    await run_sync(count_upload, request, caller)
    with places_of(request.app).hold(sender(request, caller), known=not caller.anonymous):
        async with receive(request, settings) as received:
            receipt, new = await ingest(request, received, caller)
    response.status_code = 201 if new else 200
    return receipt
