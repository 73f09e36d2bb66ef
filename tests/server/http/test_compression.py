"""Answers that nobody compressed are compressed on the way out, where that is right."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from codec_superb.server.http.compression import WORTH_COMPRESSING, Compression, accepts_gzip

TEXT = "some words " * 200


def _stream(_request: Request) -> Response:
    return StreamingResponse(iter([TEXT, TEXT]), media_type="text/plain")


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """Run an application with one answer of each kind."""
    app = Starlette(
        routes=[
            Route("/text", lambda _: PlainTextResponse(TEXT)),
            Route("/small", lambda _: PlainTextResponse("x" * (WORTH_COMPRESSING - 1))),
            Route("/tagged", lambda _: PlainTextResponse(TEXT, headers={"ETag": '"a"'})),
            Route("/packed", lambda _: Response(gzip.compress(b"x"), headers={"Content-Encoding": "gzip"})),
            Route("/sound", lambda _: Response(TEXT.encode(), media_type="audio/ogg")),
            Route("/stream", _stream),
        ]
    )
    app.add_middleware(Compression)
    with TestClient(app) as running:
        yield running


def test_text_is_compressed_for_who_takes_it(client: TestClient) -> None:
    """The text is the same, its length shorter, and caches are told that it varies."""
    packed = client.get("/text", headers={"accept-encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["vary"] == "Accept-Encoding"
    assert int(packed.headers["content-length"]) < len(TEXT) / 4
    assert packed.text == TEXT
    assert "content-encoding" not in client.get("/text", headers={"accept-encoding": "gzip;q=0"}).headers


@pytest.mark.parametrize("path", ["/small", "/tagged", "/sound", "/stream"])
def test_everything_else_stays_as_it_is(client: TestClient, path: str) -> None:
    """Small answers, tagged ones, sound and streams pass through."""
    answer = client.get(path, headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in answer.headers
    assert answer.content


def test_nothing_is_compressed_twice(client: TestClient) -> None:
    """What is compressed already passes through."""
    assert client.get("/packed", headers={"accept-encoding": "gzip"}).content == b"x"


@pytest.mark.parametrize(
    ("header", "expected"),
    [("gzip", True), ("br, GZIP;q=0.5", True), ("*", True), ("", False), ("br", False), ("gzip;q=0", False),
     ("*;q=0, gzip", True), ("*, gzip;q=0.0", False), ("gzip ; q=0.001", True), ("x-gzip", True), ("gzip;q=1.0", True),
     ("gzip;q=no", False), ("gzip;q=2", False), ("*;q=0", False), ("gzipped", False)],
)  # fmt: skip
def test_accept_encoding_is_read_by_its_weights(header: str, expected: bool) -> None:
    """A weight of 0 refuses; a named coding counts before the star."""
    assert accepts_gzip(Headers({"accept-encoding": header})) is expected


def test_accept_encoding_may_stand_on_several_lines() -> None:
    """They are one list (RFC 9110, 5.3)."""
    lines = [(b"accept-encoding", b"br"), (b"accept-encoding", b"gzip")]
    assert accepts_gzip(Headers(raw=lines))


def test_a_long_accept_encoding_is_read_in_part() -> None:
    """60,000 commas took the event loop 50 ms; who sends so many gets the plain form, which everybody can read."""
    assert not accepts_gzip(Headers({"accept-encoding": "," * 60_000 + "gzip"}))
    assert accepts_gzip(Headers({"accept-encoding": "gzip, deflate, br, zstd" + "," * 60_000}))
