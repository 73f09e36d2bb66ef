"""Whoever asks for many answers at once leaves threads and turns to the others."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from inspect import iscoroutinefunction

import anyio.to_thread
import pytest
from fastapi import APIRouter, FastAPI, Request
from fastapi.routing import APIRoute
from starlette.testclient import TestClient
from support.coroutines import run
from support.server.board import make_submission
from support.timing import PATIENCE_S, wait_for

from codec_superb.server.app import _routers
from codec_superb.server.database.session import Database
from codec_superb.server.errors import Unavailable
from codec_superb.server.http.answer_turns import AT_ONCE, WITHOUT_TURN, made_in_turn
from codec_superb.server.http.turns import FairTurns
from codec_superb.server.people.rate_counters import address_of, network_of

MANY = 60


def request_of(app: FastAPI, address: str) -> Request:
    """Make a request of a visitor."""
    return Request({"type": "http", "app": app, "client": (address, 1), "headers": [], "method": "GET", "path": "/"})


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("203.0.113.7", "203.0.113.250", True),
        ("203.0.113.7", "203.0.114.7", False),
        ("::ffff:203.0.113.7", "203.0.113.8", True),
        ("2001:db8:1:2::1", "2001:db8:1:ff::1", True),
        ("2001:db8:1:2::1", "2001:db8:2:2::1", False),
        ("socket-1.2.3.4", "socket-1.2.3.5", False),
    ],
)
def test_neighbours_have_their_turns_together(one: str, other: str, together: bool) -> None:
    """A /24 of IPv4, a /48 of IPv6; what a proxy names otherwise is somebody by itself."""
    networks = {network_of(address_of(request_of(FastAPI(), address))) for address in (one, other)}
    assert (len(networks) == 1) is together


def test_one_network_leaves_a_turn_and_all_other_threads() -> None:
    """Sixty requests of one /24 hold as many threads as they have turns, and another visitor's is made meanwhile."""
    going, go = Counter[str](), threading.Event()

    def slow(who: str) -> str:
        going[who] += 1
        assert go.wait(PATIENCE_S)
        return who

    async def ask() -> tuple[int, str, list[str]]:
        app = FastAPI()
        many = [
            asyncio.ensure_future(made_in_turn(request_of(app, f"203.0.113.{number}"), slow, "many"))
            for number in range(MANY)
        ]
        await asyncio.sleep(0.1)
        held = anyio.to_thread.current_default_thread_limiter().borrowed_tokens
        other = await asyncio.wait_for(made_in_turn(request_of(app, "198.51.100.1"), lambda: "other"), PATIENCE_S)
        begun = going["many"]
        go.set()
        assert held == begun
        return begun, other, await asyncio.gather(*many)

    assert run(ask) == (AT_ONCE - 1, "other", ["many"] * MANY)


def routes_of(routers: Iterable[APIRouter]) -> Iterator[APIRoute]:
    """Yield the routes of routers, and of those that they include."""
    for router in routers:
        yield from (route for route in router.routes if isinstance(route, APIRoute))
        yield from routes_of(route.original_router for route in router.routes if hasattr(route, "original_router"))


THREADS = {
    route.path for route in routes_of(_routers(local=False))
    if route.methods == {"GET"} and not iscoroutinefunction(route.endpoint)
}  # fmt: skip
MADE = ("/compare?codec=a&codec=b", "/api/v1/compare?codec=a&codec=b", "/compare", "/tokens", "/codecs/a")
HERE = ("/", "/api/v1/leaderboard", "/login", "/readyz", "/healthz", "/favicon.svg", "/robots.txt", "/static/a")


def test_what_has_to_be_made_waits_for_a_turn(client: TestClient) -> None:
    """Whatever answers in a thread, but for what is named; the leaderboard and files in memory are there at once."""
    app = client.app
    assert isinstance(app, FastAPI)
    app.state.answer_turns = FairTurns(1, senders=0, patience=0.0, busy=lambda: Unavailable("no turn"))
    assert WITHOUT_TURN < THREADS
    waits = {address: client.get(address).status_code == 503 for address in (*MADE, *THREADS, *HERE)}
    assert {address for address, told in waits.items() if told} == {*MADE, *THREADS} - WITHOUT_TURN


@pytest.mark.parametrize(
    ("address", "waits"),
    [("/api/v1/attestations", True), ("/compare/listen?codec=a&codec=b&seed=" + "0" * 16, True), ("/login", False),
     ("/api/v1/submissions", False), ("/moderation/abc", False)],
)  # fmt: skip
def test_posts_of_anybody_that_are_computed_wait_for_a_turn(client: TestClient, address: str, waits: bool) -> None:
    """An attestation is read in turn; log-ins, uploads and decisions wait behind nobody's page."""
    app = client.app
    assert isinstance(app, FastAPI)
    app.state.answer_turns = FairTurns(1, senders=0, patience=0.0, busy=lambda: Unavailable("no turn"))
    assert (client.post(address).status_code == 503) is waits


@pytest.mark.parametrize("address", ["/conditions", "/ranking", "/snapshots/1", "/compare?codec=a&codec=b"])
def test_who_may_ask_no_more_is_told_at_once(client: TestClient, address: str) -> None:
    """Not where the answer is made: all who wait for it would be told that they asked too much."""
    app = client.app
    assert isinstance(app, FastAPI)
    app.state.settings = app.state.settings.model_copy(update={"computations_per_minute": 1})
    app.state.answer_turns = FairTurns(1, senders=0, patience=0.0, busy=lambda: Unavailable("no turn"))
    assert [client.get(address).status_code for _ in range(2)] == [503, 429]


def test_the_openapi_document_is_written_in_turn(client: TestClient) -> None:
    """In a thread, by whoever asks first; it took the event loop more than half a second. Later it is there at once."""
    app = client.app
    assert isinstance(app, FastAPI)
    none = FairTurns(1, senders=0, patience=0.0, busy=lambda: Unavailable("no turn"))
    app.state.answer_turns = none
    assert client.get("/api/openapi.json").status_code == 503
    del app.state.answer_turns
    assert client.get("/api/openapi.json").status_code == 200
    app.state.answer_turns = none
    assert client.get("/api/openapi.json").status_code == 200


def test_to_choose_is_no_computation(client: TestClient) -> None:
    """Visitors who open the comparison without codecs use up nothing."""
    app = client.app
    assert isinstance(app, FastAPI)
    app.state.settings = app.state.settings.model_copy(update={"computations_per_minute": 1})
    addresses = ("/compare", "/compare?metric=pesq", "/compare?metric=stoi", "/compare?codec=a", "/compare?codec=b")
    assert 429 not in [client.get(address).status_code for address in addresses]


def test_who_waits_gets_the_newest_revision(client: TestClient, database: Database) -> None:
    """Answers of older ones are not kept: all who wait would make theirs again."""
    app, portal = client.app, client.portal
    assert isinstance(app, FastAPI)
    assert portal is not None
    turns = app.state.answer_turns = FairTurns(1, senders=9, patience=PATIENCE_S, busy=lambda: Unavailable("no turn"))
    held = turns.turn("somebody else")
    portal.call(held.__aenter__)
    with ThreadPoolExecutor(1) as visitor:
        page = visitor.submit(client.get, "/tokens")
        wait_for(lambda: turns.here == 2, "nobody waits")
        with database.transaction(write=True) as session:
            make_submission(session, "opus_12k")
        newest = app.state.board.refresh().revision
        portal.call(held.__aexit__, None, None, None)
        assert page.result().status_code == 200
    assert app.state.answers.find(("/tokens", sha256(b"(None, None)").hexdigest(), newest))
