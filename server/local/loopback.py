"""Answers only requests for an address of this machine.

A page of any site can have its own name resolve to 127.0.0.1 (DNS rebinding) and would then read the runs from a
visitor's browser; the browser still sends that name as the host.
"""

from __future__ import annotations

from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send


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


def is_loopback(host: str) -> bool:
    """Whether a host, with or without a port, is ``localhost`` or a loopback address; no other name is looked up."""
    bracketed, _, _ = host.removeprefix("[").partition("]")  # RFC 3986: an IPv6 address before a port has brackets
    name = bracketed if host.startswith("[") or host.count(":") > 1 else host.partition(":")[0].lower()
    try:
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False
