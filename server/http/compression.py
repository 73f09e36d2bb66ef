"""Gzip compression of complete text and JSON answers, for clients that accept it (RFC 9110, section 12.5.3)."""

from __future__ import annotations

import gzip
import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SMALLEST = 1000
"""Smallest body in bytes that is compressed."""
_LEVEL = 5
_TEXT = ("text/", "application/json", "application/openapi+json", "image/svg+xml")
_NOT_WANTED = re.compile(r"q=0(\.0*)?")


def accepts_gzip(header: str) -> bool:
    """Whether the header ``Accept-Encoding`` lists gzip, or else ``*``, with a weight other than 0."""
    weights: dict[str, bool] = {}
    for part in header.split(","):
        coding, _, weight = part.partition(";")
        weights[coding.strip().lower()] = not _NOT_WANTED.fullmatch(weight.replace(" ", "").lower())
    return weights.get("gzip", weights.get("*", False))


class Compression:
    """ASGI middleware; answers with an ETag or a Content-Encoding, and streams, are left unchanged."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and accepts_gzip(Headers(scope=scope).get("accept-encoding", "")):
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
            body: bytes = message.get("body", b"")
            if message["type"] == "http.response.body" and not message.get("more_body") and len(body) >= SMALLEST:
                message = {**message, "body": gzip.compress(body, _LEVEL, mtime=0)}
                headers = MutableHeaders(raw=head["headers"])
                headers["content-encoding"] = "gzip"
                headers["content-length"] = str(len(message["body"]))
                headers.add_vary_header("Accept-Encoding")
            await self._send(head)
        await self._send(message)


def _may(headers: Headers) -> bool:
    return (
        headers.get("content-type", "").startswith(_TEXT)
        and "content-encoding" not in headers
        and "etag" not in headers
    )
