"""Heads that are large or impossible are refused before a line is parsed; what browsers and proxies send passes."""

from __future__ import annotations

from typing import Any

import h11
import pytest
from h11._util import validate as _validate

from codec_superb.server.http.slow_clients import CHUNK_LINE, HEADER_BYTES, HEADERS, TOO_LARGE, _Connection

LINE = b"GET / HTTP/1.1\r\nHost: x\r\n"
BODY = b"POST /login HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNKED = BODY + b"2\r\nok\r\n0\r\n"
BROWSER = (
    b"Sec-Ch-Ua: " + b"x" * 200 + b"\r\nUser-Agent: " + b"y" * 200 + b"\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n"
    b"Cookie: " + b"z" * 8_000 + b"\r\nAuthorization: Bearer " + b"t" * 4_000 + b"\r\n"
    b"X-Forwarded-For: 203.0.113.7, 198.51.100.9\r\nX-Forwarded-Proto: https\r\nVia: 2.0 proxy\r\n"
)


def events(connection: _Connection, data: bytes, size: int) -> list[Any]:
    """Give a connection bytes in pieces of a size; return what it took them for."""
    found = []
    for start in range(0, len(data), size):
        connection.receive_data(data[start : start + size])
        while (event := connection.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
            found.append(event)
    return found


@pytest.mark.parametrize("size", [1_000, 1 << 18])
@pytest.mark.parametrize("end", [b"", b"\r\n"])
@pytest.mark.parametrize(
    "head",
    [
        LINE + b"a:\r\n" * 15_000,
        LINE + b"a: b\n" * (HEADERS + 1),
        LINE + b"Cookie: " + b'a="\\1";' * 2_500 + b"\r\n",
        LINE + b"Content-Type: multipart/form-data" + b";" * 60_000 + b"\r\n",
        LINE + b"Accept-Encoding: " + b"," * HEADER_BYTES + b"\r\n",
        b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n",
        CHUNKED + b"a:\r\n" * 15_000,
        CHUNKED + b"a: " + b"b" * 400 + b"\r\nc: " + b"d" * HEADER_BYTES + b"\r\n",
    ],
    ids=[
        "many",
        "a few too many",
        "cookies",
        "parameters",
        "commas",
        "address",
        "many behind a body",
        "long behind one",
    ],
)
def test_what_is_large_is_refused(head: bytes, end: bytes, size: int) -> None:
    """Whole or not, at once or in pieces, and also behind a chunked body, where headers may come again."""
    connection = _Connection()
    with pytest.raises(h11.RemoteProtocolError) as raised:
        events(connection, head + end, size)
    assert raised.value.error_status_hint == 431
    assert connection.too_large


@pytest.mark.parametrize("size", [70, 1_000, 1 << 18])
@pytest.mark.parametrize(
    "data",
    [
        LINE + BROWSER + b"\r\n",
        LINE + b"a: b\r\n" * (HEADERS - 1) + b"\r\n",
        b"GET /?" + b"x" * 40_000 + b" HTTP/1.1\r\nHost: x\r\nCookie: " + b"z" * 16_000 + b"\r\n\r\n",
        LINE.replace(b"GET", b"POST") + b"Content-Length: 60000\r\n\r\n" + b"\n" * 60_000,
        CHUNKED + b"a: b\r\n\r\n",
        CHUNKED + b"\r\n",
        b"GET / HTTP/1.1\nHost: x\n\n",
        LINE + b"a:" + b" \t" * 8_000 + b"b\r\nc: d  e \r\n\tf\r\n\r\n",
        LINE + b"Cookie: a=\x01\xff\r\n\r\n",
        BODY + b"2;" + b"a" * (CHUNK_LINE - 4) + b"\r\nok\r\n0 \r\n\r\n",
    ],
    ids=[
        "a browser's",
        "a hundred",
        "a long address",
        "lines of a body",
        "a header behind a body",
        "no header there",
        "line feeds alone",
        "blanks and a folded line",
        "other control characters",
        "a long line before a chunk",
    ],
)
def test_what_is_usual_passes(data: bytes, size: int) -> None:
    """Cookies, tokens, what proxies add, long addresses, and bodies, whose lines are nobody's headers."""
    request, *rest = events(_Connection(), data, size)
    assert isinstance(request, h11.Request)
    assert isinstance(rest[-1], h11.EndOfMessage)


@pytest.mark.parametrize("size", [70, 1 << 18])
@pytest.mark.parametrize("character", [b"\0", b"\x0b", b"\x0c", b"\r"])
@pytest.mark.parametrize(
    "data",
    [
        LINE + b"a:" + b" " * 16_000 + b"%b\r\n\r\n",
        LINE + b"a:\r\n" + b" " * 16_000 + b"%b b\r\n\r\n",
        b"GET /%b HTTP/1.1\r\nHost: x\r\n\r\n",
        CHUNKED + b"a:" + b" " * 60_000 + b"%b\r\n\r\n",
        CHUNKED + b"a: b\r\nc:" + b" " * 16_000 + b"%bd\r\n\r\n",
    ],
    ids=["a header", "a folded line", "a request line", "behind a body", "further behind one"],
)
def test_what_is_in_no_line_is_refused_before_an_expression_reads_it(
    monkeypatch: pytest.MonkeyPatch, data: bytes, character: bytes, size: int
) -> None:
    """h11's own takes quadratic time to find it; what it may read, it reads at once."""
    seen = read_before_400(monkeypatch, data.replace(b"%b", character), size)
    assert all(character not in line.removesuffix(b"\r\n") for line in seen)


@pytest.mark.parametrize("size", [70, 1 << 18])
@pytest.mark.parametrize("end", [b"", b"\r\n"])
@pytest.mark.parametrize("line", [b"5;" + b" " * 60_000 + b"\nX", b"5;" + b"a" * (CHUNK_LINE - 2)])
def test_a_long_line_before_a_chunk_is_refused(
    monkeypatch: pytest.MonkeyPatch, line: bytes, end: bytes, size: int
) -> None:
    """Whole or not, before the expression that takes quadratic time reads it."""
    assert max(map(len, read_before_400(monkeypatch, BODY + line + end, size))) <= CHUNK_LINE


def read_before_400(monkeypatch: pytest.MonkeyPatch, data: bytes, size: int) -> list[bytes]:
    """Send data in pieces; return the lines that h11's expressions have read when it is refused."""
    seen = watched(monkeypatch)
    connection = _Connection()
    with pytest.raises(h11.RemoteProtocolError) as raised:
        events(connection, data, size)
    assert raised.value.error_status_hint == 400
    assert not connection.too_large
    return seen


def watched(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return the list to which the lines are added that h11 gives to its expressions."""
    seen: list[bytes] = []

    def validate(expression: Any, data: bytes, *words: Any) -> Any:
        seen.append(bytes(data))
        return _validate(expression, data, *words)

    monkeypatch.setattr("h11._readers.validate", validate)
    return seen


def test_a_further_request_is_counted_by_itself() -> None:
    """On one connection a hundred headers may come again and again."""
    connection = _Connection()
    for _ in range(3):
        assert len(events(connection, LINE + b"a: b\r\n" * 90 + b"\r\n", 1_000)) == 2
        for event in (h11.Response(status_code=200, headers=[("content-length", "0")]), h11.EndOfMessage()):
            connection.send(event)
        connection.start_next_cycle()
    assert not connection.too_large
    assert "at most 100 headers of 16384 bytes" in TOO_LARGE
