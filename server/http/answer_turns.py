"""Turns of those who ask for answers that have to be made: few at once, and fair between networks.

Python computes one thing at a time, however many threads there are. Comparisons of half a second each, asked for over
60 connections, had all threads that uploads and log-ins share, and let these wait for 90 s.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from inspect import iscoroutinefunction
from typing import ParamSpec, TypeVar

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool

from codec_superb.server.errors import Unavailable
from codec_superb.server.http.turns import FairTurns
from codec_superb.server.people.rate_counters import network_of_request

AT_ONCE = 3
"""Answers that one process makes at the same time, of which a network has one less."""
WAITING = 128
"""Requests that wait behind those of other networks."""
PATIENCE_S = 30.0
"""Seconds for which one waits: 60 comparisons of half a second are made in them."""
_SAMPLE = "/{submission_id}/samples/{number}/{side}.ogg"
WITHOUT_TURN = frozenset({
    "/login", "/readyz", "/metrics-internal",
    f"/api/v1/submissions{_SAMPLE}", f"/moderation{_SAMPLE}", "/api/v1/listening/{address}.ogg",
    "/api/v1/submissions/{identity}/file", "/api/v1/submissions/{identity}/parts/{number}",
})  # fmt: skip
"""Routes that answer in a thread and wait for nobody: the way in, how the service is, and files as they are, for which
a store may take long."""
POSTS = frozenset({"/compare/listen"})
"""Routes that make an answer to what anybody may POST. Log-ins, uploads and decisions wait behind no visitor's page."""
_P = ParamSpec("_P")
_T = TypeVar("_T")


def turn(request: Request) -> AbstractAsyncContextManager[None]:
    """Return the turn of whoever asks, to be waited for. It raises Unavailable where too many wait, or too long."""
    state = request.app.state
    if not hasattr(state, "answer_turns"):
        state.answer_turns = FairTurns(AT_ONCE, senders=WAITING, patience=PATIENCE_S, busy=_busy)
    turns: FairTurns = state.answer_turns
    return turns.turn(network_of_request(request))


async def made_in_turn(request: Request, make: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Make something for one caller alone in a thread, in turn."""
    async with turn(request):
        return await run_in_threadpool(make, *args, **kwargs)


async def _while_made(request: Request) -> AsyncIterator[None]:
    endpoint, path = request.scope["endpoint"], request.scope["route"].path
    made = request.method == "GET" or path in POSTS
    if not made or iscoroutinefunction(endpoint) or path in WITHOUT_TURN:
        yield
        return
    async with turn(request):
        yield


InTurn = Depends(_while_made, scope="function")
"""Dependency of all routes: whatever answers GET in a thread waits for its turn before it has a thread or a session,
and so do :data:`POSTS`.

Endpoints in the event loop answer from memory, and take a turn for what they make (:func:`made_in_turn`).
"""


def _busy() -> Unavailable:
    return Unavailable("too many pages are asked for at once; ask again in a few seconds", headers={"Retry-After": "5"})
