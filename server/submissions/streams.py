"""Places of answers that are streamed: whoever reads slowly holds a piece of one, and a connection."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, FastAPI, Request

from codec_superb.server.errors import Unavailable
from codec_superb.server.http.turns import FairTurns
from codec_superb.server.people.rate_counters import address_of

IN_ALL = 64
"""Answers that one process streams at the same time."""
EACH = 8
"""Of these, the ones of an address."""
WAITING = 64
"""Requests of one address, with those that are answered, and of all that wait."""
PATIENCE_S = 10.0
"""Seconds for which one waits."""


def stream_turns(app: FastAPI) -> FairTurns:
    """Return who reads streams of an application now."""
    if not hasattr(app.state, "streams"):
        app.state.streams = FairTurns(
            IN_ALL, senders=WAITING, patience=PATIENCE_S, busy=_busy, of_one=WAITING, each=EACH
        )
    turns: FairTurns = app.state.streams
    return turns


def _busy() -> Unavailable:
    words = f"expected at most {EACH} downloads at once from one address, and {IN_ALL} in all; try again in 10 s"
    return Unavailable(words, headers={"Retry-After": "10"})


async def _until_sent(request: Request) -> AsyncIterator[None]:
    async with stream_turns(request.app).turn(address_of(request)):
        yield


Streamed = Annotated[None, Depends(_until_sent, scope="request")]
"""Dependency of an endpoint whose answer is streamed: holds a place until it is sent, or the client has gone."""
