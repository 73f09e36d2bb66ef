"""Which cookies of a request are read."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send


class PlainCookies:
    """ASGI middleware that leaves out each cookie with a backslash; those of the service have none.

    The framework reads all cookies for every route. Python before 3.11.10 and 3.12.6 unquotes them in quadratic time
    (CVE-2024-7592): one of 16 kB took 1.5 s of the loop that serves everybody. Other services of the host may set such,
    so the other cookies stay.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http":
            scope["headers"] = [
                (name, _plain(value) if name == b"cookie" and b"\\" in value else value)
                for name, value in scope["headers"]
            ]
        await self._app(scope, receive, send)


def _plain(cookies: bytes) -> bytes:
    return b";".join(cookie for cookie in cookies.split(b";") if b"\\" not in cookie)
