"""Lets a few requests of one network begin in a turn of the event loop, so that its hundreds hold up nobody else.

A turn of the loop goes through all that is ready: with 300 connections that ask for kept answers as fast as they come
it took 0.3 s, which every other request and new connection waited for. No request is refused or counted.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from starlette.types import ASGIApp, Receive, Scope, Send

from codec_superb.server.people.rate_counters import client_key, network_of

EACH = 4
"""Requests that begin, half a millisecond each where their answer is kept. The others are first in the next turn."""


class LoopTurns:
    """The middleware; it stands where the client's address is known."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap ``app``."""
        self._app = app
        self._begun: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Wait for a turn of the loop in which the client's network has begun few."""
        if scope["type"] == "http":
            client = scope.get("client")
            network = network_of(client_key(client[0] if client else "unknown"))
            while self._begun[network] >= EACH:  # noqa: ASYNC110 -- the next turn is what is waited for
                await asyncio.sleep(0)
            if not self._begun:
                # before whoever waits: they ask to be called after this
                asyncio.get_running_loop().call_soon(self._begun.clear)
            self._begun[network] += 1
        await self._app(scope, receive, send)
