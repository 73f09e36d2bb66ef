"""Rate limits per token, or per address for anonymous clients."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from fastapi import Depends, Request

from codec_superb.server.people.access import Caller, Identity
from codec_superb.server.people.rate_counters import Kind, address_of, count_request


def check_limit(request: Request, caller: Identity, kind: Kind) -> None:
    """Count the request. Raises TooManyRequests, with the seconds to wait, when the limit is exceeded."""
    count_request(request, kind, sender(request, caller))


def sender(request: Request, caller: Identity) -> str:
    """Return the key that a sender is counted by: of its token, or of its address without one."""
    return address_of(request) if caller.token_id is None else f"token {caller.token_id}"


def turn_of(request: Request, caller: Identity) -> str:
    """Return the key by which a sender waits for checks: of its account, whose tokens have one turn together."""
    return sender(request, caller) if caller.account_id is None else f"account {caller.account_id}"


@cache
def _dependency(kind: Kind) -> object:
    def counted(request: Request, caller: Caller) -> None:
        check_limit(request, caller, kind)

    return counted


CountedComputation = Annotated[None, Depends(_dependency("computations"))]
"""Dependency that limits the rate of an endpoint that computes on every request."""
