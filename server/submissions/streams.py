"""Places of answers that are streamed: whoever reads slowly holds a piece of one, and a connection."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Protocol

import anyio
from fastapi import Depends, FastAPI, Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from codec_superb.server.errors import Unavailable
from codec_superb.server.http.shared_places import SharedPlaces
from codec_superb.server.people.rate_counters import address_of, site_of

IN_ALL = 64
"""Answers that one process streams at the same time."""
EACH = 8
"""Of these, the ones of an address."""
OF_SITE = 16
"""Of these, the ones of an IPv6 site: a home line has 256 networks, each of which could be an address."""
WAITING = 64
"""Requests that wait, of which a site has no more than it leaves free."""
PATIENCE_S = 10.0
"""Seconds for which one waits."""


class StreamPlaces:
    """Who reads streams of an application now, and who waits."""

    def __init__(self) -> None:
        self._shared = SharedPlaces(IN_ALL, each=EACH, of_site=OF_SITE)
        self._waiting, self._left = SharedPlaces(WAITING, each=WAITING, of_site=WAITING), anyio.Event()

    @property
    def taken(self) -> int:
        """Number of places that are held."""
        return self._shared.taken

    @asynccontextmanager
    async def hold(self, who: str) -> AsyncIterator[None]:
        """Wait for a place, and hold it. Raises Unavailable where too many wait, or too long."""
        site = site_of(who)
        if self._must_wait(who, site):  # nobody else needs one of those places
            await self._wait(who, site)
        self._shared.take(who, site)
        try:
            yield
        finally:
            self._shared.leave(who, site)
            self._left.set()  # all look, in the order in which they came
            self._left = anyio.Event()

    def _must_wait(self, who: str, site: str) -> bool:
        return self._shared.has_enough(who, site) or not self._shared.has_room(site)

    async def _wait(self, who: str, site: str) -> None:
        if not self._waiting.has_room(site):
            raise _busy()
        self._waiting.take(who, site)
        try:
            with anyio.fail_after(PATIENCE_S):
                while self._must_wait(who, site):
                    await self._left.wait()
        except TimeoutError:
            raise _busy() from None
        finally:
            self._waiting.leave(who, site)


def stream_places(app: FastAPI) -> StreamPlaces:
    """Return the places of an application."""
    if not hasattr(app.state, "streams"):
        app.state.streams = StreamPlaces()
    places: StreamPlaces = app.state.streams
    return places


def _busy() -> Unavailable:
    words = f"expected at most {EACH} downloads at once from one address, and {IN_ALL} in all; try again in 10 s"
    return Unavailable(words, headers={"Retry-After": "10"})


async def _until_sent(request: Request) -> AsyncIterator[None]:
    async with stream_places(request.app).hold(address_of(request)):
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
