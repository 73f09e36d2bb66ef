"""Security headers of every answer (Content-Security-Policy and related).

The policy allows scripts, styles, pictures, connections and form targets of this site only, and no framing. The inline
styles that plotly.js writes are allowed by hash.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from hashlib import sha256

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from codec_superb.server.http.hosts import relative
from codec_superb.server.people.sessions import cookie_name
from codec_superb.server.settings import Settings
from codec_superb.web.site.assets import asset, asset_url

Header = tuple[bytes, bytes]
_HALF_A_YEAR = 15_768_000
"""``max-age`` of Strict-Transport-Security (RFC 6797) in seconds."""


def content_security_policy() -> str:
    """Return the value of the header Content-Security-Policy (CSP Level 3)."""
    elements, attributes = _style_sources()
    policy = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",  # for browsers without the CSP 3 directives style-src-elem and style-src-attr
        # plotly.js writes style elements; their hashes are computed from the file that is served
        "style-src-elem": f"'self' {elements}",
        "style-src-attr": attributes,
        # plotly.js saves a figure as a picture by way of such addresses
        "img-src": "'self' data: blob:",
        "media-src": "'self'",
        "connect-src": "'self'",
        "form-action": "'self'",
        # no other site may show a page in a frame and lead clicks to it
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
    # RFC 6797: only over HTTPS, and a browser keeps to it for so long
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
        # looked for in the bytes: a page for a moderator is kept nowhere, whatever the endpoint says
        personal = any(name == b"cookie" and self._cookie in value for name, value in scope["headers"])

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = self._completed(message.get("headers", ()), personal=personal)
            await send(message)

        await self.app(scope, receive, send_with_headers)

    def _completed(self, given: Iterable[Header], *, personal: bool) -> list[Header]:
        """Add missing headers; those of the application are kept."""
        headers = [(name, relative(value) if name.lower() == b"location" else value) for name, value in given]
        named = {name.lower(): value for name, value in headers}
        headers += [(name, value) for name, value in self._headers if name not in named]
        if personal and b"immutable" not in named.get(b"cache-control", b""):
            headers = [(name, value) for name, value in headers if name.lower() != b"cache-control"]
            headers.append((b"cache-control", b"private, no-store"))
        return headers


_SHEET = re.compile(rb"\.textContent=(?:'([^'\\]*)'|\"([^\"\\]*)\"),document\.head\.appendChild")
_RENDERINGS = (
    "optimizeSpeed", "-moz-crisp-edges", "-o-crisp-edges", "-webkit-optimize-contrast", "optimize-contrast",
    "crisp-edges", "pixelated",
)  # fmt: skip


@cache
def _style_sources() -> tuple[str, str]:
    """Return the sources for ``style-src-elem`` and ``style-src-attr``: hashes of what plotly.js writes at run time.

    Found in Chromium with every kind of chart of the site: an empty ``<style>`` that it fills through the CSS object
    model, which CSP does not restrict; the style sheet of its map library, set when it is loaded; on images (heat maps)
    a style attribute with all vendor spellings of pixelated rendering; and in hover texts one for each ``<b>``. A hash
    allows exactly that text, so that injected styles are still blocked, which ``'unsafe-inline'`` would not do.
    """
    plotly = asset(asset_url("plotly.js").rsplit("/", 1)[-1])
    assert plotly is not None
    sheets = sorted({single or double for single, double in _SHEET.findall(plotly.content)})
    pixels = "".join(f"image-rendering: {value}; " for value in _RENDERINGS).encode()
    attributes = (_source(text) for text in (b"", pixels, b"font-weight:bold"))
    return " ".join(map(_source, (b"", *sheets))), " ".join(("'unsafe-hashes'", *attributes))


def _source(style: bytes) -> str:
    return f"'sha256-{b64encode(sha256(style).digest()).decode()}'"
