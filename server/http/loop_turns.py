"""Lets a few requests of one network begin in a turn of the event loop, so that its hundreds hold up nobody else.

A turn of the loop goes through all that is ready: with 300 connections that ask for kept answers as fast as they come
it took 0.3 s, which every other request and new connection waited for. The others wait in a queue of their network,
and whoever has left by then is not answered. All may wait: each has an open connection, of which the system has an end;
refusing takes as long as a kept answer, and held up others for two seconds with 4,000 connections of one address.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque

from starlette.types import ASGIApp, Receive, Scope, Send

from codec_superb.server.people.rate_counters import client_key, network_of

EACH = 4
"""Requests that begin, half a millisecond each where their answer is kept."""


class LoopTurns:
    """The middleware; it stands where the client's address is known."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap ``app``."""
        self._app = app
        self._begun: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Wait for a turn of the loop in which the client's network has begun few."""
        if scope["type"] == "http":
            client = scope.get("client")
            network = network_of(client_key(client[0] if client else "unknown"))
            if network in self._waiting or self._begun[network] >= EACH:
                await self._turn_of(network)
                if _has_left(receive):
                    return
            else:
                self._begin(network)
        await self._app(scope, receive, send)

    async def _turn_of(self, network: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(network, deque()).append(turn)
        await turn

    def _begin(self, network: str) -> None:
        if not self._begun:
            asyncio.get_running_loop().call_soon(self._next)
        self._begun[network] += 1

    def _next(self) -> None:
        """Begin a turn: with those that wait the longest."""
        self._begun.clear()
        for network, queue in list(self._waiting.items()):
            while queue and self._begun[network] < EACH:
                turn = queue.popleft()
                if not turn.done():  # the service stops
                    self._begin(network)
                    turn.set_result(None)
            if not queue:
                del self._waiting[network]


def _has_left(receive: Receive) -> bool:
    """Whether the client closed its connection, as uvicorn's cycle of request and response knows."""
    return bool(getattr(getattr(receive, "__self__", None), "disconnected", False))
