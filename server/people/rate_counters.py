"""Request counters per token or address (package ``limits``), shared on PostgreSQL, else in this process's memory.

No address is stored: in the database counters have keyed hashes.
"""

from __future__ import annotations

import ipaddress
import math
import re
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Literal, cast

from fastapi import Request
from limits import RateLimitItem, RateLimitItemPerDay, RateLimitItemPerHour, RateLimitItemPerMinute
from limits.storage import StorageTypes
from limits.strategies import MovingWindowRateLimiter

from codec_superb.server.errors import TooManyRequests
from codec_superb.server.people.own_windows import OwnWindows
from codec_superb.server.people.shared_windows import SharedWindows
from codec_superb.server.settings import Settings

MARK = "cs_"
"""Prefix of every token, by which scanners for leaked secrets can find it."""
PREFIX = len(MARK) + 8
"""Characters of a token's secret that identify it, and that are stored; the 208 random bits after them are not."""
_BEGINNINGS = 10
"""Times the limit of wrong tokens that an address may send with different beginnings."""
SECONDS_OF_AN_UPLOAD = 10.0
"""Of checking; a small file can be made that takes the longest time allowed."""
Kind = Literal["uploads", "computations", "wrong tokens", "beginners", "listeners"]
_NETWORK_OF_A_CLIENT = 64
"""Prefix length of an IPv6 client: a subnet has 64 bits of prefix (RFC 4291), and a client may use all addresses of
it."""
_NETWORK_OF_A_SITE = 48
"""Prefix length of what one site may have (RFC 6177): 65,536 subnets, each of which could be a client."""
CLIENTS_OF_A_SITE = 16
"""Times the limit of one client that all clients of a site have together."""
_IPV4_CLIENT = re.compile(r"address [0-9]+(\.[0-9]+){3}")
_IPV6_CLIENT = re.compile(rf"[0-9a-f:]+/{_NETWORK_OF_A_CLIENT}")


def make_limiter(settings: Settings) -> MovingWindowRateLimiter:
    """Create the limiter of ``app.state.limiter``: all processes on one PostgreSQL count together."""
    storage = SharedWindows(settings) if settings.shared else OwnWindows()
    # a moving window: with fixed ones twice the limit passes around the full hour
    return MovingWindowRateLimiter(cast("StorageTypes", storage))


def close_limiter(limiter: MovingWindowRateLimiter) -> None:
    """Close its connections, where it has any."""
    if isinstance(limiter.storage, SharedWindows):
        limiter.storage.close()


def count_request(request: Request, kind: Kind, who: str, *, times: int = 1) -> None:
    """Count one request of ``who``. Raises TooManyRequests, with the seconds to wait, when the limit is exceeded.

    ``times`` as much is allowed as the settings say; of beginners and listeners, for whom they say nothing, ``times``
    a day.
    """
    _expect(request, kind, who, times, _limiter(request).hit)


def check_room(request: Request, kind: Kind, who: str, *, times: int = 1) -> None:
    """Raise as :func:`count_request`, and count nothing."""
    _expect(request, kind, who, times, _limiter(request).test)


def _expect(request: Request, kind: Kind, who: str, times: int, fits: Callable[..., bool]) -> None:
    for whom, more in _counted_as(who):
        item = _item(request.app.state.settings, kind, times * more)
        if not fits(item, kind, whom):
            raise _refusal(request, item, kind, whom)


def count_checking(request: Request, who: str, seconds: float) -> None:
    """Count each ten seconds that a file took to be checked as an upload more; refuses nothing now."""
    for whom, more in _counted_as(who):
        item = _item(request.app.state.settings, "uploads", more)
        for _ in range(int(seconds // SECONDS_OF_AN_UPLOAD)):
            _limiter(request).hit(item, "uploads", whom)


def count_wrong_token(request: Request, secret: str) -> None:
    """Count an unknown, expired or revoked token. Raises TooManyRequests after many of an address.

    Counted by address and beginning of the token, so that one program with an old token leaves its neighbours behind
    a proxy their answers, and by address, so that guesses with ever new beginnings end too.
    """
    address: str = address_of(request)
    kind: Kind = "wrong tokens"
    count_request(request, kind, address, times=_BEGINNINGS)
    count_request(request, kind, f"{address} {secret[:PREFIX]}")


def address_of(request: Request) -> str:
    """Return the client's address as a counter key, ``address …``: as given by trusted proxies, or the peer's.

    An IPv6 client is represented by its /64 network, an IPv4-mapped IPv6 address by the IPv4 address. Its site is
    counted too, under a larger limit.
    """
    return client_key(request.client.host if request.client else "unknown")


@lru_cache(4096)
def client_key(host: str) -> str:
    """Return the counter key of a client, see :func:`address_of`."""
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


def _counted_as(who: str) -> Iterator[tuple[str, int]]:
    """Yield what somebody is counted as, and how many times the limit of one client that has: an IPv6 site too."""
    yield who, 1
    if (site := site_of(who)) != who:
        yield site, CLIENTS_OF_A_SITE


def site_of(who: str) -> str:
    """Return the counter key of the site of an IPv6 client, or ``who`` itself."""
    client = _IPV6_CLIENT.search(who)
    if client is None:
        return who
    return who.replace(client[0], str(ipaddress.IPv6Network(client[0]).supernet(new_prefix=_NETWORK_OF_A_SITE)))


def network_of(who: str) -> str:
    """Return the key of a client and its neighbours: its IPv6 site, or the 256 IPv4 addresses around its own."""
    beginning, dot, _ = who.rpartition(".")
    return f"{beginning}.0/24" if dot and _IPV4_CLIENT.fullmatch(who) else site_of(who)


def network_of_request(request: Request) -> str:
    """Return the key of the network that a request comes from, see :func:`network_of`."""
    return network_of(address_of(request))


def _refusal(request: Request, item: RateLimitItem, kind: Kind, who: str) -> TooManyRequests:
    wait = max(1, math.ceil(_limiter(request).get_window_stats(item, kind, who).reset_time - time.time()))
    return TooManyRequests(
        f"expected at most {item.amount} {kind} per {item.GRANULARITY.name}; try again in {wait} seconds",
        headers={"Retry-After": str(wait)},
    )


def _limiter(request: Request) -> MovingWindowRateLimiter:
    limiter: MovingWindowRateLimiter = request.app.state.limiter
    return limiter


def _item(settings: Settings, kind: Kind, times: int) -> RateLimitItem:
    if kind == "computations":
        return RateLimitItemPerMinute(times * settings.computations_per_minute)
    if kind in ("beginners", "listeners"):
        return RateLimitItemPerDay(times)
    return RateLimitItemPerHour(times * (settings.uploads_per_hour if kind == "uploads" else settings.logins_per_hour))
