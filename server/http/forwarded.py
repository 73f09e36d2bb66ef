"""Notices a reverse proxy that the settings do not name: behind it, all visitors count as one address."""

from __future__ import annotations

from collections.abc import MutableMapping
from ipaddress import ip_address, ip_network

from starlette.types import ASGIApp, Receive, Scope, Send

from codec_superb.server.operations.logs import get_logger
from codec_superb.server.settings import Settings

_LOG = get_logger(__name__)
_FORWARDED = frozenset({b"x-forwarded-for", b"forwarded"})


class UnnamedProxy:
    """Middleware that warns once, in log and ``/readyz``, of such headers by who is no trusted proxy.

    Only private and loopback addresses are taken for a proxy: anybody can send a header.
    """

    def __init__(self, app: ASGIApp, settings: Settings, warnings: MutableMapping[str, str]) -> None:
        self._app = app
        self._trusted = [ip_network(text) for text in settings.trusted_proxies]
        self._warnings = warnings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass every request on."""
        if scope["type"] == "http" and "proxy" not in self._warnings and self._unnamed(scope):
            detail = (
                f"X-Forwarded-For came from {scope['client'][0]}, which CODEC_SUPERB_SERVER_TRUSTED_PROXIES does not "
                "name: all visitors behind it share one address and its limits; set it to the proxy's address"
            )
            self._warnings["proxy"] = detail
            _LOG.warning(detail)
        await self._app(scope, receive, send)

    def _unnamed(self, scope: Scope) -> bool:
        if _FORWARDED.isdisjoint(name for name, _ in scope["headers"]):
            return False
        try:
            peer = ip_address(scope["client"][0])
        except (TypeError, ValueError):  # a Unix socket
            return False
        return peer.is_private and not any(peer in network for network in self._trusted)
