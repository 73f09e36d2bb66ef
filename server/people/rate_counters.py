"""Request counters per token or address (package ``limits``) in the memory of this process; no address is stored."""

from __future__ import annotations

import ipaddress
import math
import time
from typing import Literal

from fastapi import Request
from limits import RateLimitItem, RateLimitItemPerHour, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from codec_superb.server.errors import TooManyRequests
from codec_superb.server.settings import Settings

Kind = Literal["uploads", "logins", "computations", "wrong tokens"]
_NETWORK_OF_A_CLIENT = 64
"""Prefix length of an IPv6 client: a subnet has 64 bits of prefix (RFC 4291), and a client may use all addresses of
it."""


def make_limiter() -> MovingWindowRateLimiter:
    """Create the limiter of ``app.state.limiter``."""
    # a moving window: with fixed ones twice the limit passes around the full hour
    return MovingWindowRateLimiter(MemoryStorage())


def count_request(request: Request, kind: Kind, who: str) -> None:
    """Count one request of ``who``. Raises TooManyRequests, with the seconds to wait, when the limit is exceeded."""
    item = _item(request.app.state.settings, kind)
    if not _limiter(request).hit(item, kind, who):
        raise _refusal(request, item, kind, who)


def check_wrong_tokens(request: Request) -> None:
    """Raise TooManyRequests for an address that has sent too many wrong tokens, before its token is looked up."""
    kind: Kind = "wrong tokens"
    item, who = _item(request.app.state.settings, kind), address_of(request)
    if not _limiter(request).test(item, kind, who):
        raise _refusal(request, item, kind, who)


def count_wrong_token(request: Request) -> None:
    """Count an unknown, expired or revoked token for the sender's address."""
    count_request(request, "wrong tokens", address_of(request))


def address_of(request: Request) -> str:
    """Return the client's address as a counter key, ``address …``: as given by trusted proxies, or the peer's.

    An IPv6 client is represented by its /64 network, an IPv4-mapped IPv6 address by the IPv4 address.
    """
    host = request.client.host if request.client else "unknown"
    try:
        address = ipaddress.ip_address(host)
    except ValueError:  # a Unix socket, or an identifier from a trusted proxy
        return f"address {host}"
    if isinstance(address, ipaddress.IPv4Address):
        return f"address {address}"
    # ::ffff:a.b.c.d on a socket of both families is the IPv4 client
    if address.ipv4_mapped is not None:
        return f"address {address.ipv4_mapped}"
    return f"address {ipaddress.ip_network((int(address), _NETWORK_OF_A_CLIENT), strict=False)}"


def _refusal(request: Request, item: RateLimitItem, kind: Kind, who: str) -> TooManyRequests:
    wait = max(1, math.ceil(_limiter(request).get_window_stats(item, kind, who).reset_time - time.time()))
    return TooManyRequests(
        f"expected at most {item.amount} {kind} per {item.GRANULARITY.name}; try again in {wait} seconds",
        headers={"Retry-After": str(wait)},
    )


def _limiter(request: Request) -> MovingWindowRateLimiter:
    limiter: MovingWindowRateLimiter = request.app.state.limiter
    return limiter


def _item(settings: Settings, kind: Kind) -> RateLimitItem:
    if kind == "computations":
        return RateLimitItemPerMinute(settings.computations_per_minute)
    return RateLimitItemPerHour(settings.uploads_per_hour if kind == "uploads" else settings.logins_per_hour)
