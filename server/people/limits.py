"""Rate limits per token, and per address where there is none; counted in this process."""

from __future__ import annotations

import math
import time
from functools import cache
from typing import Annotated, Literal

from fastapi import Depends, Request
from limits import RateLimitItem, RateLimitItemPerHour, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from codec_superb.server.errors import TooManyRequests
from codec_superb.server.people.access import Caller, Identity
from codec_superb.server.settings import Settings

Kind = Literal["uploads", "logins", "computations"]


def check_limit(request: Request, caller: Identity, kind: Kind) -> None:
    """Count the request. Raises TooManyRequests, with the seconds to wait, when the limit is used up."""
    item = _item(request.app.state.settings, kind)
    who = f"token {caller.token_id}" if caller.token_id is not None else f"address {_address(request)}"
    limiter: MovingWindowRateLimiter = _limiter(request)
    if not limiter.hit(item, kind, who):
        wait = max(1, math.ceil(limiter.get_window_stats(item, kind, who).reset_time - time.time()))
        raise TooManyRequests(
            f"expected at most {item.amount} {kind} per {item.GRANULARITY.name}; try again in {wait} seconds",
            headers={"Retry-After": str(wait)},
        )


def _limiter(request: Request) -> MovingWindowRateLimiter:
    state = request.app.state
    if not hasattr(state, "limiter"):
        state.limiter = MovingWindowRateLimiter(MemoryStorage())
    limiter: MovingWindowRateLimiter = state.limiter
    return limiter


def _item(settings: Settings, kind: Kind) -> RateLimitItem:
    if kind == "computations":
        return RateLimitItemPerMinute(settings.computations_per_minute)
    return RateLimitItemPerHour(settings.uploads_per_hour if kind == "uploads" else settings.logins_per_hour)


def _address(request: Request) -> str:
    """Address of the client, as the server (with trusted proxies) knows it."""
    return request.client.host if request.client else "unknown"


@cache
def _dependency(kind: Kind) -> object:
    def count(request: Request, caller: Caller) -> None:
        check_limit(request, caller, kind)

    return count


CountedComputation = Annotated[None, Depends(_dependency("computations"))]
"""Put it into an endpoint that computes on every request."""
