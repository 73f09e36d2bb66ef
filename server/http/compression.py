"""Gzip compression of complete text and JSON answers, for clients that accept it (RFC 9110, section 12.5.3)."""

from __future__ import annotations

import gzip
import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

WORTH_COMPRESSING = 500
"""Bytes from which on compression saves more than it costs."""
_LEVEL = 3
"""Half the time of the usual 6 for an eighth more bytes: under load most answers are made anew."""
_TEXT = ("text/", "application/json", "application/openapi+json", "image/svg+xml")
_WANTED = re.compile(r"(;q=(0\.0*[1-9]\d*|1(\.0*)?))?")
"""What follows a coding that is acceptable: nothing, or a weight above 0 (RFC 9110, 12.4.2)."""

_READ = 500
"""Characters of the header that are read; browsers send 30. Each comma takes a microsecond, and 60,000 came."""


def accepts_gzip(headers: Headers) -> bool:
    """Read ``Accept-Encoding`` (RFC 9110, 12.5.3): whether gzip, or else ``*``, stands there with a weight above 0.

    ``x-gzip`` is another name of gzip (8.4.1.3). Without the header the plain form is sent, which everybody can read.
    """
    wanted: dict[str, bool] = {}
    for part in ",".join(headers.getlist("accept-encoding"))[:_READ].lower().split(","):
        coding, semicolon, weight = "".join(part.split()).partition(";")
        # RFC 9110, 8.4.1.3: x-gzip is gzip
        wanted[coding.removeprefix("x-")] = bool(_WANTED.fullmatch(semicolon + weight))
    return wanted.get("gzip", wanted.get("*", False))


def compress(body: bytes, level: int = _LEVEL) -> bytes | None:
    """Compress an answer, the same to the same bytes; None where that is not worth it."""
    if len(body) < WORTH_COMPRESSING:
        return None
    # without the time, so that equal bodies are equal compressed, and tags may rest on them
    compressed = gzip.compress(body, level, mtime=0)
    return compressed if len(compressed) < len(body) else None


class Compression:
    """ASGI middleware; answers with an ETag or a Content-Encoding, and streams, are left unchanged."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and accepts_gzip(Headers(scope=scope)):
            send = _Compressing(send).send
        await self.app(scope, receive, send)


class _Compressing:
    """Delays the header of an answer until its body is known, and compresses a complete large body."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._head: Message | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _may(Headers(raw=message["headers"])):
            self._head = message
            return
        if self._head is not None:
            head, self._head = self._head, None
            whole = message["type"] == "http.response.body" and not message.get("more_body")
            compressed = compress(message.get("body", b"")) if whole else None
            if compressed is not None:
                message = {**message, "body": compressed}
                headers = MutableHeaders(raw=head["headers"])
                headers["content-encoding"] = "gzip"
                headers["content-length"] = str(len(compressed))
                # caches between must not give it to a client that cannot read gzip
                headers.add_vary_header("Accept-Encoding")
            await self._send(head)
        await self._send(message)


def _may(headers: Headers) -> bool:
    return (
        headers.get("content-type", "").startswith(_TEXT)
        and "content-encoding" not in headers
        and "etag" not in headers
    )
