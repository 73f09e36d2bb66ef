"""Which ``Host`` a request may name, and redirects that name none (RFC 9110, section 7.2)."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from fastapi import Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from codec_superb.server.errors import Misdirected
from codec_superb.server.http.error_pages import answer
from codec_superb.server.http.requests import HEALTH_PATHS
from codec_superb.server.settings import Settings


class ExpectedHost:
    """Middleware that answers only requests for the host of ``base_url`` and for loopback addresses of this machine.

    Any other is a page of somebody else whose name leads here, or a proxy that is set up otherwise. Nothing is refused
    where the settings name no host: ``base_url`` is not set, or is the address of all interfaces. Probes of monitoring
    ask by any name.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._host = _expected(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or self._host is None or scope["path"] in HEALTH_PATHS:
            await self._app(scope, receive, send)
            return
        got = Headers(scope=scope).get("host", "")
        if host_name(got) == self._host or is_loopback(got):
            await self._app(scope, receive, send)
            return
        refusal = Misdirected(
            f"expected a request for {self._host}, got one for {got[:80]!r}; maintainers set "
            "CODEC_SUPERB_SERVER_BASE_URL to the address that people use"
        )
        await answer(Request(scope), refusal)(scope, receive, send)


def _expected(settings: Settings) -> str | None:
    host = urlsplit(settings.base_url).hostname if "base_url" in settings.model_fields_set else None
    try:
        return None if host is None or ip_address(host).is_unspecified else host
    except ValueError:  # a name
        return host


def host_name(host: str) -> str:
    """Return a header's host in lower case without its port, and an IPv6 address without its brackets (RFC 3986).

    '' where something else than a port follows it, such as ``:8000@elsewhere``.
    """
    bracketed, _, behind = host.removeprefix("[").partition("]")
    if host.startswith("[") or host.count(":") > 1:
        name, port = bracketed, behind.removeprefix(":")
    else:
        name, _, port = host.partition(":")
    return name.lower() if not port or port.isdecimal() else ""


def is_loopback(host: str) -> bool:
    """Whether a host, with or without a port, is ``localhost`` or a loopback address; no other name is looked up."""
    name = host_name(host)
    try:
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


def relative(location: bytes) -> bytes:
    """Return the path and query of a redirect: every redirect of the service leads to itself.

    The framework makes absolute ones of the request's ``Host``, which the client chooses.
    """
    parts = urlsplit(location)
    if not parts.netloc:
        return location
    # //host would be an address of another host again, and so, to browsers, would /\\host
    path = b"/" + parts.path.lstrip(b"/\\")
    return path + (b"?" + parts.query if parts.query else b"")
