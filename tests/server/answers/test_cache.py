"""Finished answers: bounded, made once, forgotten with their revision."""

from __future__ import annotations

import asyncio
import gzip
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from support.coroutines import run
from support.server.board import make_submission

from codec_superb.server.answers import loop_share
from codec_superb.server.answers.cache import HTML, AnswerCache, EncodedAnswer, UnsentAnswer, encode_answer
from codec_superb.server.database.session import Database
from codec_superb.server.errors import Unavailable
from codec_superb.server.http.turns import FairTurns


def answer(size: int) -> EncodedAnswer:
    """Make an answer that compression cannot shrink."""
    return encode_answer(UnsentAnswer(os.urandom(size), HTML))


def test_the_least_recently_used_goes_first() -> None:
    """The cache never holds more bytes than its limit; what was asked for lately stays."""
    cache = AnswerCache(limit=10_000)
    for number in range(3):
        cache.keep(("/", str(number), 1), answer(2_500))
    assert cache.find(("/", "0", 1))
    cache.keep(("/", "3", 1), answer(2_500))
    assert cache.size <= 10_000
    assert [cache.find(("/", str(number), 1)) is not None for number in range(4)] == [True, False, True, True]


def test_an_answer_larger_than_the_cache_is_not_kept() -> None:
    """It would drive everything else out."""
    cache = AnswerCache(limit=1_000)
    cache.keep(("/", "", 1), answer(400))
    cache.keep(("/", "big", 1), answer(5_000))
    assert cache.find(("/", "", 1))
    assert cache.find(("/", "big", 1)) is None


def test_an_address_takes_no_room(client: TestClient) -> None:
    """The limit is one of answers: addresses of 30 kB are not kept beside them."""
    client.get("/compare", params={"choose": "1", "codec": "x" * 30_000})
    kept = client.app.state.answers._kept  # type: ignore[attr-defined]  # Starlette's application
    assert len(kept) == 1
    assert max(len(part) for key in kept for part in key[:2]) < 100


def test_a_new_revision_forgets_the_old_one() -> None:
    """Old answers are never asked for again; one that was made too late is not kept."""
    cache = AnswerCache()
    cache.keep(("/", "", 1), answer(10))
    cache.keep(("/", "", 2), answer(10))
    cache.keep(("/", "late", 1), answer(10))
    assert len(cache) == 1
    assert cache.size == cache.find(("/", "", 2)).size  # type: ignore[union-attr]


def test_who_asks_meanwhile_waits_for_the_same_answer() -> None:
    """Ten requests at once make the answer once; an error reaches all and is not kept."""
    calls = []
    go = threading.Event()

    def make() -> UnsentAnswer:
        calls.append(1)
        go.wait(60)
        if len(calls) == 2:
            raise ValueError("no answer")
        return UnsentAnswer("x", HTML)

    async def ask(cache: AnswerCache, key: str) -> list[EncodedAnswer | BaseException]:
        waiting = [asyncio.ensure_future(cache.get(("/", key, 1), make)) for _ in range(10)]
        await asyncio.sleep(0.05)
        go.set()
        return await asyncio.gather(*waiting, return_exceptions=True)

    cache = AnswerCache()
    got = run(ask, cache, "a")
    assert len(calls) == 1
    assert all(isinstance(entry, EncodedAnswer) for entry in got)
    assert {type(entry) for entry in run(ask, cache, "b")} == {ValueError}
    assert len(calls) == 2
    assert run(cache.get, ("/", "b", 1), make).body == b"x"


def test_a_visitor_who_leaves_takes_nothing_from_the_others() -> None:
    """Cancelling one request leaves the making of the answer alone."""
    go = threading.Event()

    def make() -> UnsentAnswer:
        go.wait(60)
        return UnsentAnswer("x", HTML)

    async def ask() -> bytes:
        cache = AnswerCache()
        first = asyncio.ensure_future(cache.get(("/", "", 1), make))
        second = asyncio.ensure_future(cache.get(("/", "", 1), make))
        await asyncio.sleep(0.05)
        first.cancel()
        go.set()
        return (await second).body

    assert run(ask) == b"x"


def test_compression_is_for_what_it_shrinks() -> None:
    """Small and incompressible answers stay as they are; the others are kept small and unpack to the same bytes."""
    assert not encode_answer(UnsentAnswer("short", HTML)).compressed
    assert not answer(1_000).compressed
    packed = encode_answer(UnsentAnswer("text " * 1_000, HTML))
    assert packed.compressed
    assert packed.size < 1_000
    assert gzip.decompress(packed.kept) == packed.body == b"text " * 1_000
    assert packed.etag == encode_answer(UnsentAnswer("text " * 1_000, HTML)).etag


def test_a_quick_answer_is_made_at_once() -> None:
    """It is made by the thread that asks, and kept like any other."""
    makers = []

    def make() -> UnsentAnswer:
        makers.append(threading.current_thread())
        return UnsentAnswer("x", HTML)

    async def ask(cache: AnswerCache) -> EncodedAnswer:
        await cache.get(("/", "", 1), make, quick=True)
        return await cache.get(("/", "", 1), make)

    with ThreadPoolExecutor(1) as other:  # in this thread a browser's loop may be running
        asking = other.submit(threading.current_thread).result()
        assert other.submit(asyncio.run, ask(AnswerCache())).result().body == b"x"
    assert makers == [asking]


def test_a_large_answer_is_unpacked_in_turn(client: TestClient) -> None:
    """For who takes no gzip: of an export it takes tens of milliseconds of the event loop."""
    app = client.app
    assert isinstance(app, FastAPI)
    plain = {"Accept-Encoding": "identity"}
    document = client.get("/api/openapi.json", headers=plain).content
    assert len(app.state.openapi.kept) > 30_000
    app.state.answer_turns = FairTurns(1, senders=0, patience=0.0, busy=lambda: Unavailable("no turn"))
    assert client.get("/api/openapi.json", headers=plain).status_code == 503
    assert client.get("/api/openapi.json").content == document
    assert client.get("/", headers=plain).status_code == 200


def test_the_loop_makes_views_up_to_a_networks_share(
    client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond it they are made in a thread, in turn, and come all the same; another network has its own."""
    with database.transaction(write=True) as session:
        make_submission(session, "opus_12k", 12)
    client.app.state.board.refresh()  # type: ignore[attr-defined]  # Starlette's application
    made: list[bool] = []
    real = AnswerCache._make

    def watched(self: AnswerCache, *given: Any) -> EncodedAnswer:
        made.append(threading.current_thread().name.startswith("AnyIO"))
        return real(self, *given)

    monkeypatch.setattr(AnswerCache, "_make", watched)
    for limit, in_thread in ((1, False), (2, True)):
        assert client.get(f"/?kbps_min={limit}").status_code == 200
        assert made.pop() is in_thread
        monkeypatch.setattr(loop_share, "SHARE", 0.0)
    share = loop_share.LoopShare()
    monkeypatch.setattr(loop_share, "SHARE", 0.001)
    with share.spent_by("one"):
        time.sleep(0.01)
    assert (share.has_some_left("one"), share.has_some_left("other")) == (False, True)
    monkeypatch.setattr(loop_share, "WINDOW", 0.0)
    assert share.has_some_left("one")
