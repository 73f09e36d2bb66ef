"""``POST /api/v1/submissions``: send a submission file; ``/api/v1/parts``: files of rows that come before it."""

from __future__ import annotations

from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Path, Request, Response

from codec_superb.server.database.session import database_of
from codec_superb.server.errors import BadRequest
from codec_superb.server.http.error_answers import error_responses
from codec_superb.server.ingest import parts
from codec_superb.server.ingest.callers import caller_of, count_upload
from codec_superb.server.ingest.places import places_of
from codec_superb.server.ingest.receive import FORM, RAW, receive
from codec_superb.server.ingest.schemas import Receipt, StagedFile, StagedFiles
from codec_superb.server.ingest.service import check_permission, ingest
from codec_superb.server.people.access import Identity
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
    409: "the codec's name belongs to another account, or parts that the file describes are not here",
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


Sha256 = Annotated[str, Path(description="SHA-256 of the part.", pattern="^[0-9a-f]{64}$")]
_PART_ERRORS = {
    400: "another file than its hash says",
    401: "no token",
    403: "a token without the scope submit",
    413: "larger than the limit, or more than an account may have here",
    429: "too many uploads; Retry-After says when to go on",
    503: "too many uploads at once; Retry-After says when to try again",
}


@router.get("/api/v1/parts", tags=["submissions"], responses=error_responses({401: "no token", 403: "another scope"}))
async def staged_parts(request: Request) -> StagedFiles:
    """List the parts that the token's account has sent and no submission of it has named, and what else has room."""
    caller = await run_sync(_sender, request)
    return await run_sync(parts.staged, database_of(request), request.app.state.settings, caller)


@router.put(
    "/api/v1/parts/{sha256}",
    status_code=201,
    tags=["submissions"],
    openapi_extra={"requestBody": {"required": True, "content": {RAW[0]: {"schema": _BINARY}}}},
    responses={200: {"model": StagedFile, "description": "it was here"}, **error_responses(_PART_ERRORS)},
)
async def send_part(request: Request, response: Response, sha256: Sha256) -> StagedFile:
    """Send a part of a submission before the file that describes it; it waits for some days."""
    settings, database = request.app.state.settings, database_of(request)
    caller = await run_sync(_sender, request)
    await run_sync(count_upload, request, caller)
    declared = request.headers.get("content-length", "")
    await run_sync(parts.has_room, database, settings, caller, int(declared) if declared.isdigit() else 1)
    with places_of(request.app).hold(sender(request, caller), known=True):
        async with receive(request, settings) as received:
            if received.sha256 != sha256:
                raise BadRequest(f"expected the file with the SHA-256 {sha256[:16]}…, got {received.sha256[:16]}…")
            told, new = await run_sync(parts.stage, database, settings, received, caller)
    response.status_code = 201 if new else 200
    return told


@router.delete(
    "/api/v1/parts/{sha256}",
    status_code=204,
    tags=["submissions"],
    responses=error_responses({401: "no token", 403: "another scope", 404: "no such part of this account"}),
)
async def discard_part(request: Request, sha256: Sha256) -> None:
    """Remove a part that waits: it counts no more."""
    caller = await run_sync(_sender, request)
    await run_sync(parts.discard, database_of(request), request.app.state.settings, sha256, caller)


def _sender(request: Request) -> Identity:
    """Identify an account: what nobody sent could be bounded by nothing."""
    caller = caller_of(request)
    caller.require("submit")
    return caller
