"""Cache of finished answers by request and revision of the public data; pages, API and exports share it.

An endpoint is ``async`` and hands :func:`cached` a function that makes the answer. A kept answer goes out from the
event loop without a thread, the database or a template; a missing one is made in a thread, once for all who wait, or
at once where that is quicker.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from operator import attrgetter
from threading import Lock
from types import MappingProxyType

from cachetools import LRUCache
from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from codec_superb.server.answers.loop_share import LoopShare
from codec_superb.server.board.current import board_of
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.http.answer_turns import turn
from codec_superb.server.http.compression import accepts_gzip, compress
from codec_superb.server.operations.meters import meters
from codec_superb.server.people.access import ANONYMOUS, Identity
from codec_superb.server.people.limits import check_limit
from codec_superb.server.people.rate_counters import network_of_request
from codec_superb.web.figures.layout import Figure

LIMIT = 64_000_000
"""Bytes of answers that are kept."""
_LARGE = 30_000
"""Bytes of a compressed answer that is not unpacked in the event loop: half a megabyte and more."""
JSON = "application/json"
HTML = "text/html; charset=utf-8"
_Key = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class UnsentAnswer:
    """An answer as its endpoint makes it."""

    body: bytes | str
    media_type: str
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Such as Content-Disposition."""


def figure_answer(figure: Figure) -> UnsentAnswer:
    """Answer with a figure as strict JSON."""
    return UnsentAnswer(json.dumps(figure, allow_nan=False, separators=(",", ":")), JSON)


@dataclass(frozen=True, slots=True)
class EncodedAnswer:
    """An answer ready to be sent. One that is worth compressing is kept compressed alone: an eighth of the bytes."""

    kept: bytes
    compressed: bool
    media_type: str
    etag: str
    """Strong entity tag of the uncompressed form, quoted; the compressed form differs in bytes and has its own tag."""
    compressed_etag: str
    headers: Mapping[str, str]

    @property
    def body(self) -> bytes:
        """The uncompressed form: made for few, since browsers and programs read gzip; 0.3 ms for a page of 100 kB."""
        return gzip.decompress(self.kept) if self.compressed else self.kept

    @property
    def size(self) -> int:
        """Size in bytes."""
        # 500 bytes for the headers and Python's objects around them
        return len(self.kept) + 500


class AnswerCache:
    """Answers of the newest revision, the least recently used ones dropped beyond ``limit`` bytes."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._kept: LRUCache[_Key, EncodedAnswer] = LRUCache(limit, getsizeof=attrgetter("size"))
        self._newest = -1
        self._lock = Lock()
        self._pending: dict[_Key, asyncio.Future[EncodedAnswer]] = {}
        self.share = LoopShare()

    def __len__(self) -> int:
        """Return the number of answers."""
        return len(self._kept)

    @property
    def size(self) -> int:
        """Return the bytes of all answers."""
        return int(self._kept.currsize)

    def find(self, key: _Key) -> EncodedAnswer | None:
        """Look an answer up."""
        with self._lock:
            return self._kept.get(key)

    def keep(self, key: _Key, answer: EncodedAnswer) -> None:
        """Keep an answer and drop those of older revisions. One larger than the limit is not kept."""
        revision = key[2]
        with self._lock:
            # answers of an older revision are never asked for again: the key has the newest
            if revision > self._newest:
                self._kept.clear()
                self._newest = revision
            if revision == self._newest and answer.size <= self._kept.maxsize:
                self._kept[key] = answer

    def is_being_made(self, key: _Key) -> bool:
        """Whether somebody waits for the answer already."""
        return key in self._pending

    async def get(self, key: _Key, make: Callable[[], UnsentAnswer], *, quick: bool = False) -> EncodedAnswer:
        """Return a kept answer, or make it: a quick one in the event loop, others in a thread, once for all waiters."""
        found = self.find(key)
        if found is not None:
            return found
        if quick:
            return self._make(key, make)
        pending = self._pending.get(key)
        if pending is None:
            pending = self._pending[key] = asyncio.ensure_future(run_in_threadpool(self._make, key, make))
            pending.add_done_callback(lambda _: self._pending.pop(key))
        # Shielded: a client that disconnects must not cancel the answer of the other clients that wait for it.
        return await asyncio.shield(pending)

    def _make(self, key: _Key, make: Callable[[], UnsentAnswer]) -> EncodedAnswer:
        answer = encode_answer(make())
        self.keep(key, answer)
        return answer


def encode_answer(made: UnsentAnswer) -> EncodedAnswer:
    """Compress an answer and give it its entity tags."""
    body = made.body.encode() if isinstance(made.body, str) else made.body
    digest = sha256(body).hexdigest()[:24]
    compressed = compress(body)
    tags = f'"{digest}"', f'"{digest}-gzip"'  # RFC 9110, 8.8.3: what differs in coding has different strong tags
    return EncodedAnswer(compressed or body, compressed is not None, made.media_type, *tags, dict(made.headers))


async def cached(
    request: Request,
    key: str,
    make: Callable[[Snapshot], UnsentAnswer],
    *,
    counted: bool = False,
    quick: bool = False,
    max_age: int = 0,
) -> Response:
    """Answer ``request`` with what ``make`` gives for the current snapshot, from memory where it was made before.

    ``key`` holds all of the request that the answer depends on beside its path: the canonical query. An answer that
    depends on the caller does not belong here. ``make`` runs in a thread, in the caller's turn, and gets the snapshot
    whose revision the answer is kept under; ``quick`` says that it takes a few milliseconds and touches neither
    database nor file, so that the event loop makes it itself, up to a network's share: a thread would wait for the
    interpreter for longer than that. ``counted`` counts a request that is not answered from memory as a computation of
    its address. ``max_age`` is how many seconds a browser may keep it without asking; 0 makes it ask with its entity
    tag.
    """
    snapshot = board_of(request).current
    cache = answers_of(request)
    # of one length: what LIMIT counts are answers, and an address may have 64 kB
    digest = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    place = (request.scope["path"], digest)
    answer = cache.find((*place, snapshot.revision))
    meters(request.app).cache("answers", hit=answer is not None)
    if answer is None:
        if counted:
            # before an answer that another one has made: of what that one may not ask for, this one may
            await count_computation(request)
        network = network_of_request(request)
        if quick and cache.share.has_some_left(network):
            with cache.share.spent_by(network):
                answer = await cache.get((*place, snapshot.revision), lambda: make(snapshot), quick=True)
        # what is being made needs no turn: whoever has one may have many others in front
        elif cache.is_being_made((*place, snapshot.revision)):
            answer = await cache.get((*place, snapshot.revision), lambda: make(snapshot))
        else:
            async with turn(request):
                # of an older revision nothing is kept: all who wait would make it again, one behind the other
                newest = board_of(request).current
                answer = await cache.get((*place, newest.revision), lambda: make(newest))
    return await respond(request, answer, max_age)


async def count_computation(request: Request) -> None:
    """Count a computation of the visitor's address. Raises TooManyRequests."""
    # in a thread: counts of several processes are in the database
    await run_in_threadpool(check_limit, request, Identity(None, ANONYMOUS), "computations")


def answers_of(request: Request) -> AnswerCache:
    """Return the cache of the service."""
    state = request.app.state
    if not hasattr(state, "answers"):
        state.answers = AnswerCache()
    cache: AnswerCache = state.answers
    return cache


async def respond(request: Request, answer: EncodedAnswer, max_age: int = 0) -> Response:
    """Send an answer, compressed where the client takes that; only its tag (304) where the client has it already."""
    packed = answer.compressed and accepts_gzip(request.headers)
    etag = answer.compressed_etag if packed else answer.etag
    # no-cache means: ask again each time, which costs a 304
    headers = {"Cache-Control": f"public, max-age={max_age}" if max_age else "no-cache", "Vary": "Accept-Encoding"}
    if packed:
        headers["Content-Encoding"] = "gzip"
    headers["ETag"] = etag
    if _matches(request.headers.get("if-none-match"), etag):
        # RFC 9110, 15.4.5: a 304 carries only the metadata by which caches update what they have
        headers.pop("Content-Encoding", None)
        return Response(status_code=304, headers=headers)
    body = answer.kept if packed else await _unpacked(request, answer)
    return Response(body, media_type=answer.media_type, headers=headers | dict(answer.headers))


async def _unpacked(request: Request, answer: EncodedAnswer) -> bytes:
    """Return the uncompressed form; of an export, which takes tens of milliseconds, from a thread, in turn."""
    if answer.compressed and len(answer.kept) > _LARGE:
        async with turn(request):
            return await run_in_threadpool(lambda: answer.body)
    return answer.body


def _matches(header: str | None, etag: str) -> bool:
    """Read ``If-None-Match``; its comparison is weak (RFC 9110, section 13.1.2), so the prefix ``W/`` is ignored."""
    if header is None:
        return False
    # If-None-Match compares weakly (RFC 9110, 13.1.2): W/ makes no difference
    return header.strip() == "*" or etag in {tag.strip().removeprefix("W/") for tag in header.split(",")}
