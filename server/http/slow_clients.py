"""The server's side of a connection: the time in which the head of a request must come, and an answer be read."""

from __future__ import annotations

import asyncio
import fcntl
import sys
import termios
from contextlib import suppress
from typing import Any

import h11
from h11._receivebuffer import ReceiveBuffer, blank_line_regex
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from codec_superb.server.http.request_limits import ADDRESS

HEAD_SECONDS = 20.0
"""Seconds from the connection, or from the first byte of a further request, to the end of the head."""

HEAD_BYTES = 1 << 16
"""Of a head that is not whole yet, and of a request line; addresses have a limit of their own, with a page that says it
(:mod:`codec_superb.server.http.request_limits`)."""

HEADERS, HEADER_BYTES = 100, 1 << 14
"""Lines and bytes of a head behind its request line, and of what may follow a chunked body: 15,000 empty headers take
60 ms of the loop that serves everybody. A browser sends some 20 lines and, cookies included, 4 kB; a proxy adds ten."""
TOO_LARGE = (
    f"expected at most {HEADERS} headers of {HEADER_BYTES} bytes in all, and an address of at most {ADDRESS} bytes; "
    "send fewer or shorter ones, such as without cookies of other services"
)
_REFUSED = 431
"""RFC 6585, section 5; h11 gives it to heads without end, too."""

_IN_NO_LINE = b"\0\x0b\x0c"
"""What h11 takes in no line of a head, as no carriage return within one (RFC 9110, 5.5; RFC 9112, 2.2). Its expression
tries each way to share the blanks behind the colon out before it refuses them: 16 kB took 2 s of the loop that serves
everybody, 60 kB behind a body 25 s. A line without them fits the first way."""
CHUNK_LINE = 256
"""Bytes of the line before a chunk: its size, and extensions (RFC 9112, 7.1.1), which nobody sends. 60 kB took 9 s."""

TAKEN, READING_SECONDS = 30_000, 30.0
"""Bytes that a client must take within so many seconds of being waited for, again and again, to the end of an answer:
until then it holds a place, a file or a piece of the answer, and a connection."""


FEW, SMALLEST = 256, 64
"""Pieces of a body that may have any size, and bytes that further ones must have on average: each costs the loop that
serves everybody as much as a page's bytes do."""


class _Lines(ReceiveBuffer):
    """Refuses heads of many, long or impossible lines before each is made an object, and long lines before chunks."""

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """Return the lines of a head, or what follows a chunked body. Raises h11.RemoteProtocolError."""
        data = self._data
        begin = data.find(b"\n") + 1  # behind the request line
        if begin > 0 and not data.startswith((b"\n", b"\r\n")):
            blank = blank_line_regex.search(data, begin - 1)
            end = blank.end() if blank else len(data)
            if max(begin - HEAD_BYTES, end - begin - HEADER_BYTES) > 0 or data.count(b"\n", begin, end) > HEADERS + 1:
                raise h11.RemoteProtocolError(TOO_LARGE, error_status_hint=_REFUSED)
            if blank and _has_controls(data, end):
                raise h11.RemoteProtocolError("a control character in a line of a head")
        return super().maybe_extract_lines()

    def maybe_extract_next_line(self) -> bytearray | None:
        """Return the line before a chunk. Raises h11.RemoteProtocolError."""
        if len(self._data) >= CHUNK_LINE and self._data.find(b"\r\n", 0, CHUNK_LINE) < 0:
            raise h11.RemoteProtocolError(f"expected at most {CHUNK_LINE} bytes before a chunk")
        return super().maybe_extract_next_line()


def _has_controls(data: bytearray, end: int) -> bool:
    bare = data.count(b"\r", 0, end) > data.count(b"\r\n", 0, end)
    return bare or any(data.find(byte, 0, end) >= 0 for byte in _IN_NO_LINE)


class _Connection(h11.Connection):
    """Refuses heads that are large, and a body that comes in many pieces of a few bytes."""

    _pieces = _bytes = 0
    too_large = False
    """Whether a head was refused for its size."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, HEAD_BYTES)
        self._receive_buffer = _Lines()

    def next_event(self) -> Any:
        """Return the next event. Raises h11.RemoteProtocolError also for such heads and bodies."""
        try:
            event = super().next_event()
        except h11.RemoteProtocolError as error:
            self.too_large = error.error_status_hint == _REFUSED
            raise
        if isinstance(event, h11.Request):
            self._pieces = self._bytes = 0
        elif isinstance(event, h11.Data):
            self._pieces, self._bytes = self._pieces + 1, self._bytes + len(event.data)
            if self._pieces > FEW + self._bytes // SMALLEST:
                raise h11.RemoteProtocolError("a body in pieces of a few bytes")
        return event


class TimedProtocol(H11Protocol):
    """uvicorn's protocol on h11, which limits a head that is not whole and the pause between requests, not these."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.conn: _Connection = _Connection()
        self._head_limit: asyncio.TimerHandle | None = None
        self._reading_limit: asyncio.TimerHandle | None = None

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, or end where an answer has begun, behind which nothing else can be said."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            if self.conn.too_large:
                self._send_431_response()
            else:
                super().send_400_response(msg)
        else:
            self.transport.close()
        if self.cycle is not None and not self.cycle.response_complete:  # its answer comes too late
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._wait_for_rest()

    def _send_431_response(self) -> None:
        headers = [("content-type", "text/plain; charset=utf-8"), ("connection", "close")]
        head = h11.Response(status_code=_REFUSED, headers=headers, reason=STATUS_PHRASES[_REFUSED])
        for event in (head, h11.Data(data=TOO_LARGE.encode()), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

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
        self._wait_no_more()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._forget()
        elif self._head_limit is None:
            self._head_limit = self.loop.call_later(HEAD_SECONDS, self._end_without_head)

    def _end_without_head(self) -> None:
        self.transport.close()
        self._wait_for_rest()

    def _forget(self) -> None:
        if self._head_limit is not None:
            self._head_limit.cancel()
            self._head_limit = None

    def on_response_complete(self) -> None:
        """Go on to the next request, or end."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._wait_for_rest()

    def timeout_keep_alive_handler(self) -> None:
        """End a connection without a further request."""
        super().timeout_keep_alive_handler()
        self._wait_for_rest()

    def _wait_for_rest(self) -> None:
        """Limit the wait for a client that is owed too little to have writing pause, whose connection is to end."""
        if self._reading_limit is None and self.transport.get_write_buffer_size():
            self._wait()

    def pause_writing(self) -> None:
        """Wait for the client, which has more before it than it takes."""
        super().pause_writing()
        self._wait()

    def resume_writing(self) -> None:
        """Go on: it has taken that."""
        self._wait_no_more()
        super().resume_writing()
        if self.transport.is_closing():  # asyncio's own loop resumes then too, uvloop does not
            self._wait_for_rest()

    def _wait(self) -> None:
        self._wait_no_more()
        self._reading_limit = self.loop.call_later(READING_SECONDS, self._look, self._untaken())

    def _look(self, before: int) -> None:
        if before - self._untaken() < TAKEN:
            # close() would wait for the client once more
            self.transport.abort()
        else:
            self._wait()

    def _untaken(self) -> int:
        """Return the bytes that the client has not taken, here and in the kernel, which has room again in leaps."""
        queued = bytes(4)
        with suppress(OSError):  # not on every system
            queued = fcntl.ioctl(self.transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, queued)
        return self.transport.get_write_buffer_size() + int.from_bytes(queued, sys.byteorder)

    def _wait_no_more(self) -> None:
        if self._reading_limit is not None:
            self._reading_limit.cancel()
            self._reading_limit = None
