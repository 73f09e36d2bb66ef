"""Places of answers that are streamed: whoever reads slowly holds a piece of one, and a connection."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Annotated, Protocol

from fastapi import Depends, FastAPI, Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from codec_superb.server.errors import Unavailable
from codec_superb.server.http.turns import FairTurns
from codec_superb.server.people.rate_counters import address_of, site_of

IN_ALL = 64
"""Answers that one process streams at the same time."""
EACH = 8
"""Of these, the ones of an address."""
OF_SITE = 16
"""Of these, the ones of an IPv6 site: a home line has 256 networks, each of which could be an address."""
WAITING = 64
"""Requests of one address, with those that are answered, and of all that wait."""
PATIENCE_S = 10.0
"""Seconds for which one waits."""


def stream_turns(app: FastAPI) -> FairTurns:
    """Return who reads streams of an application now."""
    if not hasattr(app.state, "streams"):
        app.state.streams = FairTurns(
            IN_ALL, senders=WAITING, patience=PATIENCE_S, busy=_busy, of_one=WAITING, each=EACH, of_site=OF_SITE
        )
    turns: FairTurns = app.state.streams
    return turns


def _busy() -> Unavailable:
    words = f"expected at most {EACH} downloads at once from one address, and {IN_ALL} in all; try again in 10 s"
    return Unavailable(words, headers={"Retry-After": "10"})


async def _until_sent(request: Request) -> AsyncIterator[None]:
    who = address_of(request)
    async with stream_turns(request.app).turn(who, site_of(who)):
        yield


class Closing(Protocol):
    """What holds a file or rows."""

    def close(self) -> object:
        """Let go of them."""


class Stream(StreamingResponse):
    """A streamed answer that lets go of its source once it is sent, or the client has gone.

    The traceback of who has gone holds its frames in a cycle: a file would be open, its bytes without a name on the
    disk, until a full collection, hours later on a service with little to do.
    """

    def __init__(self, pieces: Iterable[bytes], source: Closing, media_type: str, headers: Mapping[str, str]) -> None:
        super().__init__(pieces, media_type=media_type, headers=headers)
        self._source = source

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._source.close()


Streamed = Annotated[None, Depends(_until_sent, scope="request")]
"""Dependency of an endpoint whose answer is streamed: holds a place until it is sent, or the client has gone."""
