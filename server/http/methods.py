"""Request methods: HEAD for every GET route (RFC 9110, section 9.3.2), and the header ``Allow`` of 405 answers."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_USUAL = ("GET", "POST", "PUT", "PATCH", "DELETE")


class HeadAsGet:
    """ASGI middleware that handles HEAD as GET and sends the header without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return

        async def send_without_body(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        # RFC 9110, 9.3.2: the headers of a HEAD are those of a GET
        asked = {**scope, "method": "GET"}
        try:
            await self.app(asked, receive, send_without_body)
        finally:
            scope.update({**asked, "method": "HEAD"})  # routing adds the route to its scope, which the log needs


def allowed_methods(app: FastAPI, scope: Scope) -> str:
    """List the methods of the path of a request, for the header ``Allow`` (RFC 9110, section 10.2.1).

    Several routes may share a path, each with its own method; Starlette's own header lists those of the first only.
    """
    found = {
        method
        for method in _USUAL
        for route in app.router.routes
        if route.matches({**scope, "method": method})[0] is Match.FULL
    }
    return ", ".join(sorted(found | ({"HEAD"} if "GET" in found else set())))
