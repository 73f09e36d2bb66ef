"""Exception handlers that turn errors into answers: JSON for API clients, an HTML page for browsers."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from codec_superb.server.database.faults import DATABASE_ERRORS, UNKNOWN, words_of
from codec_superb.server.errors import BadRequest, FileMissing, NotFound, ServerError, TooLarge, Unavailable
from codec_superb.server.http.methods import allowed_methods
from codec_superb.server.operations.logs import get_logger
from codec_superb.server.people.page_context import page_context_of, public_page_context
from codec_superb.web.site.page import render

_READING = frozenset({"GET", "HEAD"})
_MOST_FAULTS = 20
"""Of those that are listed: a page of thousands takes half a second."""
_KINDS: dict[int, type[ServerError]] = {kind.status: kind for kind in (NotFound, TooLarge)}
_log = get_logger("codec_superb.server.errors")


def handle_errors(app: FastAPI) -> None:
    """Register the handlers."""
    app.add_exception_handler(ServerError, _ours)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(HTTPException, _http)
    for kind in DATABASE_ERRORS:
        app.add_exception_handler(kind, _database)


def _ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, ServerError)
    if isinstance(error, FileMissing):
        _log.error("a submission's file is missing", sha256=error.sha256)
        request.app.state.missing.add(error.sha256)
    return answer(request, error)


def _validation(request: Request, error: Exception) -> Response:
    """List the first invalid parameters, with at most 80 characters of each value; FastAPI's own answer repeats all."""
    assert isinstance(error, RequestValidationError)
    faults = error.errors()
    problems = [
        {"path": ".".join(map(str, fault["loc"])), "expected": fault["msg"], "got": repr(fault.get("input"))[:80],
         "how_to_fix": "see /api/docs"}
        for fault in faults[:_MOST_FAULTS]
    ]  # fmt: skip
    told = f"; the first {_MOST_FAULTS} of {len(faults)} are listed" if len(faults) > _MOST_FAULTS else ""
    return answer(request, BadRequest(f"a parameter does not fit{told}", problems=problems))


def _http(request: Request, error: Exception) -> Response:
    """Answer errors of the framework: unknown paths and methods."""
    assert isinstance(error, HTTPException)
    path = request.scope["path"]
    kind = _KINDS.get(error.status_code, BadRequest)
    ours = kind(f"nothing is at {path}" if kind is NotFound else f"{request.method} {path}: {error.detail}")
    ours.status, ours.headers = error.status_code, dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        # RFC 9110, 15.5.6: a 405 must have it
        ours.headers["Allow"] = allowed_methods(request.app, request.scope)
    return answer(request, ours)


def _database(request: Request, error: Exception) -> Response:
    """Answer 503; the log has the database's own message."""
    _log.error("database does not answer", error=type(error).__name__, reason=str(error).splitlines()[0])
    detail = f"{words_of(error)}; {'try again in a moment' if request.method in _READING else UNKNOWN}"
    return answer(request, Unavailable(detail, headers={"Retry-After": "5"}))


def answer(request: Request, error: ServerError) -> Response:
    """Return the answer to an error: a page outside of the API where the client accepts HTML, else JSON."""
    # browsers name text/html in Accept, programs rarely
    wants_page = "text/html" in request.headers.get("accept", "") and not request.scope["path"].startswith("/api/")
    if wants_page:
        title = HTTPStatus(error.status).phrase
        # For 5xx errors the page does not look up the session, which needs the database that may have failed.
        page_context = (
            page_context_of(request, title)
            if error.status < HTTPStatus.INTERNAL_SERVER_ERROR
            else public_page_context(request, title)
        )
        page = render("error.html.j2", page_context, error=error, title=title)
        return HTMLResponse(page.encode("utf-8", "backslashreplace"), error.status, error.headers)
    body = {"error": type(error).__name__, "detail": error.detail, "problems": error.problems}
    return _Spelt(body, error.status, error.headers)


class _Spelt(JSONResponse):
    """JSON whose words may be a stranger's: half of a surrogate pair is no Unicode, and is written as its escape."""

    def render(self, content: Any) -> bytes:
        """Write it."""
        return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
            "utf-8", "backslashreplace"
        )
