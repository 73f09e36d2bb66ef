"""Clients that read an answer slowly or not at all, over real sockets: they are dropped, and their places are free."""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest
import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from support.timing import PATIENCE_S, wait_for

from codec_superb.server.http import slow_clients
from codec_superb.server.http.error_pages import handle_errors
from codec_superb.server.submissions import streams

PIECES = 400
"""Of 64 kB: more than the buffers of both sides hold."""


def endless() -> FastAPI:
    """Make an application that streams."""
    app = FastAPI()
    handle_errors(app)

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(PIECES):
            yield bytes(1 << 16)

    @app.get("/")
    async def stream(_place: streams.Streamed) -> StreamingResponse:
        return StreamingResponse(pieces())

    return app


@contextmanager
def serving(app: FastAPI) -> Iterator[tuple[str, int]]:
    """Serve from a thread as the service does; yield the address."""
    config = uvicorn.Config(app, http=slow_clients.TimedProtocol, lifespan="off", log_config=None, ws="none")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield listening.getsockname()
        finally:
            server.should_exit = True
            thread.join(PATIENCE_S)
    assert not thread.is_alive()


@contextmanager
def reader(address: tuple[str, int]) -> Iterator[socket.socket]:
    """Ask, and read the status alone."""
    with socket.create_connection(address, PATIENCE_S) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        yield client


def rest(client: socket.socket) -> int:
    """Read to the end and return how many bytes came."""
    total = 0
    with suppress(ConnectionError):
        while got := len(client.recv(1 << 20)):
            total += got
    return total


def test_readers_that_stop_are_dropped_and_their_places_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the places of an address there is 503, which says so and when to come again; later a reader gets all."""
    monkeypatch.setattr(streams, "PATIENCE_S", 0.2)
    monkeypatch.setattr(slow_clients, "READING_SECONDS", 1.5)
    app = endless()
    with serving(app) as address, ExitStack() as stack:
        stuck = [stack.enter_context(reader(address)) for _ in range(streams.EACH)]
        assert all(client.recv(12) == b"HTTP/1.1 200" for client in stuck)
        with reader(address) as refused:
            told = refused.recv(4096)
        assert told.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 10" in told
        assert b"at most 8 downloads at once" in told
        wait_for(
            lambda: not streams.stream_turns(app)._who, "expected those who read nothing to have left their places"
        )
        assert max(rest(client) for client in stuck) < PIECES << 16
        with reader(address) as client:
            assert client.recv(12) == b"HTTP/1.1 200"
            assert rest(client) > PIECES << 16
