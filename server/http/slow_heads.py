"""The server's side of a connection, with a limit on the time in which the head of a request must come."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 20.0
"""Seconds from the connection, or from the first byte of a further request, to the end of the head."""


class TimedHeads(H11Protocol):
    """uvicorn's protocol on h11, which limits the size of a head (64 kB) and the pause between requests, not this."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._head_limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Begin to count."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take bytes; the head is whole once h11 has left the state in which it waits for one."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Count no more."""
        self._forget()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._forget()
        elif self._head_limit is None:
            self._head_limit = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _forget(self) -> None:
        if self._head_limit is not None:
            self._head_limit.cancel()
            self._head_limit = None
