"""Security headers of every answer (Content-Security-Policy and related).

The policy allows scripts, styles, pictures, connections and form targets of this site only, and no framing. The inline
styles that plotly.js writes are allowed by hash.
"""

from __future__ import annotations

from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from codec_superb.server.http.plotly_styles import style_sources
from codec_superb.server.people.sessions import cookie_name
from codec_superb.server.settings import Settings

Header = tuple[bytes, bytes]
_HALF_A_YEAR = 15_768_000
"""``max-age`` of Strict-Transport-Security (RFC 6797) in seconds."""


def content_security_policy() -> str:
    """Return the value of the header Content-Security-Policy (CSP Level 3)."""
    elements, attributes = style_sources()
    policy = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",  # for browsers without the CSP 3 directives style-src-elem and style-src-attr
        "style-src-elem": f"'self' {elements}",
        "style-src-attr": attributes,
        "img-src": "'self' data: blob:",
        "media-src": "'self'",
        "connect-src": "'self'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
    }
    return "; ".join(f"{kind} {sources}" for kind, sources in policy.items())


def security_headers(settings: Settings) -> dict[str, str]:
    """Return the headers that all answers share, by lower-case name."""
    fixed = {
        "content-security-policy": content_security_policy(),
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",
        "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
    }
    return fixed | ({"strict-transport-security": f"max-age={_HALF_A_YEAR}"} if settings.https else {})


class SecurityHeaders:
    """ASGI middleware that adds the headers to every answer, errors included.

    Answers to a request with a moderator's cookie are marked ``private, no-store``, unless the application has marked
    them as immutable.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self._headers = [(name.encode(), value.encode()) for name, value in security_headers(settings).items()]
        self._cookie = f"{cookie_name(settings)}=".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        personal = any(name == b"cookie" and self._cookie in value for name, value in scope["headers"])

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = self._completed(message.get("headers", ()), personal=personal)
            await send(message)

        await self.app(scope, receive, send_with_headers)

    def _completed(self, given: Iterable[Header], *, personal: bool) -> list[Header]:
        """Add missing headers; those of the application are kept."""
        headers = list(given)
        named = {name.lower(): value for name, value in headers}
        headers += [(name, value) for name, value in self._headers if name not in named]
        if personal and b"immutable" not in named.get(b"cache-control", b""):
            headers = [(name, value) for name, value in headers if name.lower() != b"cache-control"]
            headers.append((b"cache-control", b"private, no-store"))
        return headers
