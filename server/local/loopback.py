"""Answers only requests for an address of this machine.

A page of any site can have its own name resolve to 127.0.0.1 (DNS rebinding) and would then read the runs from a
visitor's browser; the browser still sends that name as the host.
"""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from codec_superb.server.http.hosts import is_loopback


class LoopbackOnly:
    """Middleware that refuses any other ``Host`` with 403."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what asks for a loopback address."""
        if scope["type"] != "http" or is_loopback(Headers(scope=scope).get("host", "")):
            await self._app(scope, receive, send)
            return
        refusal = PlainTextResponse("local runs are shown to this machine only: expected the host 127.0.0.1\n", 403)
        await refusal(scope, receive, send)
