"""Methods of requests: HEAD is answered wherever GET is, and a refused method learns which ones there are."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_USUAL = ("GET", "POST", "PUT", "PATCH", "DELETE")


class HeadAsGet:
    """ASGI middleware: asks the application for what GET would answer and sends the head of it alone."""

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

        asked = {**scope, "method": "GET"}
        try:
            await self.app(asked, receive, send_without_body)
        finally:
            scope.update({**asked, "method": "HEAD"})  # what was found on the way, such as the route, is logged


def allowed_methods(app: FastAPI, scope: Scope) -> str:
    """List the methods that the path of a request takes, for the header ``Allow`` (RFC 9110, section 10.2.1).

    Several routes may share a path, each with a method of its own: the framework names those of the first alone.
    """
    found = {
        method
        for method in _USUAL
        for route in app.router.routes
        if route.matches({**scope, "method": method})[0] is Match.FULL
    }
    return ", ".join(sorted(found | ({"HEAD"} if "GET" in found else set())))
