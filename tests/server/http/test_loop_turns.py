"""Hundreds of busy connections of one network: requests of others, and new connections, go between theirs."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import repeat

import uvicorn
from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send
from support.timing import PATIENCE_S

from codec_superb.server.http.loop_turns import EACH, LoopTurns
from codec_superb.server.serving import _config, _listening
from codec_superb.server.settings import Settings

BUSY, BURST, COST_S = 64, 200, 0.002
MANY = 3000
ASKED = b"GET /busy HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def test_a_few_of_a_network_begin_in_a_turn() -> None:
    """In the order in which they came; another network's request waits for none of them, and none is lost."""
    begun: list[tuple[str, int]] = []
    turn = 0

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del receive, send
        begun.append((scope["client"][0], turn))
        await asyncio.sleep(0)

    async def nothing() -> Message:
        return {}

    async def unsent(message: Message) -> None:
        del message

    async def all_at_once() -> None:
        nonlocal turn
        limited = LoopTurns(app)
        clients = [f"10.1.2.{number % 256}" for number in range(100)]
        asked = [{"type": "http", "client": (client, 1)} for client in (*clients, "10.1.3.1")]
        tasks = [asyncio.ensure_future(limited(scope, nothing, unsent)) for scope in asked]
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            turn += 1
        assert [client for client, _ in begun if client != "10.1.3.1"] == clients

    with ThreadPoolExecutor(1) as pool:  # a browser of other tests has a loop in this thread
        pool.submit(asyncio.run, all_at_once()).result()
    assert [client for client, _ in begun].index("10.1.3.1") <= EACH
    turns = [number for client, number in begun if client != "10.1.3.1"]
    assert max(map(turns.count, set(turns))) <= EACH


def test_who_has_left_is_not_answered_and_all_may_wait() -> None:
    """Clients that close their connections while they wait cost nothing; the others begin a few in a turn."""
    begun: list[int] = []
    turns: list[int] = []
    turn = 0

    class Cycle:
        disconnected = False

        def __init__(self, number: int) -> None:
            self.number = number

        async def receive(self) -> Message:
            return {"type": "http.disconnect"}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, send
        begun.append(receive.__self__.number)  # type: ignore[attr-defined]
        turns.append(turn)

    async def unsent(message: Message) -> None:
        del message

    async def all_at_once() -> None:
        nonlocal turn
        limited = LoopTurns(app)
        cycles = [Cycle(number) for number in range(MANY)]
        scope = {"type": "http", "client": ("10.1.2.3", 1)}
        tasks = [asyncio.ensure_future(limited(scope, cycle.receive, unsent)) for cycle in cycles]
        await asyncio.sleep(0)
        for cycle in cycles[EACH:-100]:
            cycle.disconnected = True
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            turn += 1

    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, all_at_once()).result()
    assert begun == [*range(EACH), *range(MANY - 100, MANY)]
    assert max(map(turns.count, turns)) <= EACH


def test_new_connections_are_taken_between_busy_ones(settings: Settings) -> None:
    """A burst of connections that say nothing, in front of a visitor's, costs a few turns and not one each."""
    app = FastAPI()
    answered = [0]

    @app.get("/busy")
    async def busy() -> dict[str, int]:
        answered[0] += 1
        time.sleep(COST_S)  # noqa: ASYNC251 -- what a view costs the loop
        return {}

    config = _config(settings, app)
    config.lifespan, config.timeout_graceful_shutdown = "off", 1
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listening, ExitStack() as stack:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        stack.callback(thread.join, PATIENCE_S)
        stack.callback(setattr, server, "should_exit", True)
        address = listening.getsockname()
        over = threading.Event()
        stack.callback(over.set)

        def ask(client: socket.socket) -> None:
            with suppress(OSError):
                while not over.is_set():
                    client.sendall(ASKED)
                    client.recv(4096)

        for _ in repeat(None, BUSY):
            client = stack.enter_context(socket.create_connection(address, PATIENCE_S))
            threading.Thread(target=ask, args=(client,), daemon=True).start()
        while answered[0] < BUSY:
            time.sleep(0.01)
        for _ in repeat(None, BURST):
            silent = stack.enter_context(socket.socket())
            silent.setblocking(False)
            silent.connect_ex(address)
        before = answered[0]
        with socket.create_connection(address, PATIENCE_S) as visitor:
            visitor.sendall(ASKED)
            assert visitor.recv(12) == b"HTTP/1.1 200"
        assert answered[0] - before < 10 * BUSY  # one connection in a turn: some thousands


def test_answers_are_sent_at_once() -> None:
    """Asyncio switches Nagle's wait off for sockets whose protocol it can read: answers took 40 ms more."""
    with _listening("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP
