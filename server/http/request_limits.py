"""ASGI middleware that limits addresses, and size and time of bodies outside of uploads: both are read into memory."""

from __future__ import annotations

from http import HTTPStatus
from types import MappingProxyType

import anyio
from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from codec_superb.server.errors import TooLarge
from codec_superb.server.http.error_pages import answer

ADDRESS = 32_768
"""Longest path with its query in bytes: the leaderboard with each of 600 columns chosen has 23,000."""
PARAMETERS = 1_000
"""Of a query: 10,000 cost 31 ms of the event loop wherever they are sent to."""
LIMIT = 65_536
"""Largest body in bytes outside of uploads."""
UPLOADS = frozenset({"/submit", "/api/v1/submissions"})
"""Paths whose endpoints stream the body, with a limit of their own (:mod:`codec_superb.server.ingest`)."""
PARTS = "/api/v1/parts/"
"""How the others begin."""
SECONDS = 60.0
"""Time in which such a body must have come: each connection of whoever drips holds one of the process's files."""
LARGER = MappingProxyType({"/api/v1/attestations": 1_000_000})
"""Limits of paths that take larger JSON: an attestation of some 5,000 clips."""


class RequestLimits:
    """Refuses a longer address or declared body, and aborts a chunked or slow body that exceeds the limit."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and _is_long(scope):
            words = f"expected an address of at most {ADDRESS} bytes and {PARAMETERS} parameters"
            error = TooLarge(f"{words}; choose fewer codecs, filters or columns")
            error.status = HTTPStatus.REQUEST_URI_TOO_LONG
            await answer(Request(scope), error)(scope, receive, send)
            return
        if scope["type"] != "http" or scope["path"] in UPLOADS or scope["path"].startswith(PARTS):
            await self.app(scope, receive, send)
            return
        declared = dict(scope["headers"]).get(b"content-length", b"")
        # refused by its head, before anything is read; a chunked body has no length and is counted below
        limit = LARGER.get(scope["path"], LIMIT)
        if declared.isdigit() and int(declared) > limit:
            await answer(Request(scope), TooLarge(_words(limit)))(scope, receive, send)
            return
        read, patience, more = 0, SECONDS, True

        async def counting() -> Message:
            nonlocal read, patience, more
            if not more:  # what comes behind the body says that the client has left
                return await receive()
            asked = anyio.current_time()
            try:
                with anyio.fail_after(patience):
                    message = await receive()
            except TimeoutError:
                words = f"expected the body within {SECONDS:g} seconds; send the request again"
                raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, words) from None
            patience -= anyio.current_time() - asked
            read, more = read + len(message.get("body", b"")), message.get("more_body", False)
            if read > limit:  # FastAPI turns other exceptions raised while it reads a body into a 400
                raise HTTPException(TooLarge.status, _words(limit))
            return message

        await self.app(scope, counting, send)


def _is_long(scope: Scope) -> bool:
    query: bytes = scope["query_string"]
    return len(scope.get("raw_path") or b"") + len(query) > ADDRESS or query.count(b"&") >= PARAMETERS


def _words(limit: int) -> str:
    return f"expected a body of at most {limit} bytes; files are sent to {' or '.join(sorted(UPLOADS))}"
