"""Clients that read an answer slowly or not at all, over real sockets: they are dropped, and their places are free."""

from __future__ import annotations

import gc
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import repeat
from tempfile import TemporaryFile
from typing import Literal

import pytest
import uvicorn
from fastapi import FastAPI
from fastapi.responses import Response, StreamingResponse
from support.logged import Logged
from support.timing import PATIENCE_S, wait_for
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from codec_superb.server.http import slow_clients
from codec_superb.server.http.error_pages import handle_errors
from codec_superb.server.submissions import streams

PIECES = 400
"""Of 64 kB: more than the buffers of both sides hold."""
SHORT = 50_000
"""Bytes of an answer that the server writes at once."""
SMALL = 4096
"""Bytes of the kernel's buffers of a connection that are asked for: a short answer is more."""


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

    @app.get("/file")
    async def file(_place: streams.Streamed) -> streams.Stream:
        source = TemporaryFile()  # noqa: SIM115 -- closed by what sends it
        app.state.sources.append(source)
        return streams.Stream(repeat(bytes(1 << 16), PIECES), source, "application/octet-stream", {})

    @app.get("/short")
    async def short() -> Response:
        return Response(bytes(SHORT))

    @app.get("/long")
    async def long() -> Response:
        return Response(bytes(4 * SHORT))

    app.state.sources = []
    return app


@contextmanager
def serving(
    app: FastAPI, *, small: bool = False, loop: Literal["auto", "asyncio"] = "auto"
) -> Iterator[tuple[str, int]]:
    """Serve from a thread as the service does, behind a proxy; yield the address."""
    behind = ProxyHeadersMiddleware(app, "127.0.0.1")
    config = uvicorn.Config(
        behind, http=slow_clients.TimedProtocol, lifespan="off", log_config=None, ws="none", proxy_headers=False,
        timeout_keep_alive=1, loop=loop,
    )  # fmt: skip
    server = uvicorn.Server(config)
    app.state.connections = server.server_state.connections
    with socket.create_server(("127.0.0.1", 0)) as listening:
        if small:  # connections have its sizes
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield listening.getsockname()
        finally:
            server.should_exit = server.force_exit = True
            thread.join(PATIENCE_S)
    assert not thread.is_alive()


@contextmanager
def reader(
    address: tuple[str, int], path: str = "/", of: str = "192.0.2.1", connection: str = "close"
) -> Iterator[socket.socket]:
    """Ask, and read the status alone."""
    with socket.socket() as client:
        client.settimeout(PATIENCE_S)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
        client.connect(address)
        head = f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: {connection}\r\nX-Forwarded-For: {of}\r\n\r\n"
        client.sendall(head.encode())
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
            told = b"".join(iter(partial(refused.recv, 4096), b""))  # head and body may come apart
        assert told.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 10" in told
        assert b"at most 8 downloads at once" in told
        wait_for(
            lambda: not streams.stream_places(app).taken, "expected those who read nothing to have left their places"
        )
        assert max(rest(client) for client in stuck) < PIECES << 16
        with reader(address) as client:
            assert client.recv(12) == b"HTTP/1.1 200"
            assert rest(client) > PIECES << 16


def test_few_sites_leave_places_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The networks of one home line have some of the places; where more sites take all they can, one finds a place."""
    monkeypatch.setattr(streams, "PATIENCE_S", 0.2)
    with serving(endless()) as address, ExitStack() as stack:

        def granted(of: str) -> bool:
            return stack.enter_context(reader(address, of=of)).recv(12) == b"HTTP/1.1 200"

        networks = [f"2001:db8:0:{number:x}::1" for number in range(3)]
        assert sum(granted(of) for of in networks for _ in range(streams.EACH)) == streams.OF_SITE
        monkeypatch.setattr(streams, "PATIENCE_S", 5.0)
        for of in networks * (streams.WAITING // 2):  # who waits keeps out none for whom there is a place
            stack.enter_context(reader(address, of=of))
        assert granted("192.0.2.9")
        monkeypatch.setattr(streams, "PATIENCE_S", 0.2)
        elsewhere = [f"2001:db8:{number:x}::1" for number in range(1, streams.IN_ALL // streams.EACH - 1)]
        assert all(sum(granted(of) for _ in range(streams.EACH)) > 1 for of in elsewhere)
        assert granted("192.0.2.7")


def test_what_is_streamed_is_closed_when_its_client_has_gone() -> None:
    """A file is closed at once, not by a collection, whether its client read of it or not."""
    app = endless()
    gc.disable()
    try:
        with serving(app) as address:
            for read in (0, 12):
                with reader(address, "/file") as client:
                    client.recv(read)
            wait_for(
                lambda: len(app.state.sources) == 2 and all(source.closed for source in app.state.sources),
                "expected the files of clients that have gone to be closed",
            )
    finally:
        gc.enable()


def test_a_body_in_pieces_of_a_few_bytes_is_refused(logged: Logged) -> None:
    """Each costs the loop that serves everybody: the connection ends, also behind its answer, without a traceback."""
    many = b"1\r\nx\r\n" * (slow_clients.FEW + 100)
    fair = b"%x\r\n%s\r\n" % (slow_clients.SMALLEST, b"x" * slow_clients.SMALLEST) * (slow_clients.FEW + 100)
    head = b"GET /short HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    app = endless()
    with serving(app) as address:
        for body in (many, b"zz\r\n"):
            with socket.create_connection(address, PATIENCE_S) as client:
                client.sendall(head + body)
                assert client.recv(12) == b"HTTP/1.1 400"
        for body, answers in ((many, 1), (fair, 2)):
            with socket.create_connection(address, PATIENCE_S) as client:
                client.sendall(head)
                assert client.recv(12) == b"HTTP/1.1 200"
                with suppress(ConnectionError):
                    client.sendall(body + b"0\r\n\r\n" + head)
                assert rest(client) // SHORT == answers
    assert not [record for record in logged.records if record.exc_info]


@pytest.mark.parametrize("connection", ["close", "keep-alive"])
@pytest.mark.parametrize("loop", ["auto", "asyncio"])
def test_who_leaves_the_rest_of_an_answer_is_dropped(
    monkeypatch: pytest.MonkeyPatch, connection: str, loop: Literal["auto", "asyncio"]
) -> None:
    """Also where the rest is too short to have writing pause, or is by now: it would keep its connection for good."""
    monkeypatch.setattr(slow_clients, "READING_SECONDS", 0.5)
    for path, taken in (("/short", 12), ("/long", 4 * SHORT - 20_000)):
        app = endless()
        with serving(app, small=True, loop=loop) as address, reader(address, path, connection=connection) as client:
            got = 0
            while got < taken:
                got += len(client.recv(min(taken - got, 1000)))
            wait_for(lambda app=app: not app.state.connections, "expected a client that reads no more to be dropped")
            assert rest(client) < SHORT - 12
