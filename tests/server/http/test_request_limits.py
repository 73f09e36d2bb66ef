"""Bodies of requests that send no file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Message
from support.coroutines import run

from codec_superb.server.http import request_limits
from codec_superb.server.http.request_limits import LIMIT
from codec_superb.web.site.board.columns import CHOOSABLE

DECISION = "/api/v1/submissions/abc/decision"


def pieces(size: int) -> Iterator[bytes]:
    """Give a body whose size no header tells, as JSON that never ends."""
    yield b'{"reason": "'
    for _ in range(size // 1000):
        yield b"a" * 1000


class TestRequestLimits:
    """No request but an upload holds much in memory."""

    @pytest.mark.parametrize("path", [DECISION, "/login", "/compare/listen?codec=a&codec=b&seed=x", "/"])
    def test_a_body_that_says_it_is_large_is_refused_unread(self, client: TestClient, path: str) -> None:
        """The length in the header is enough for a 413 that says what was expected."""
        answer = client.post(path, content=b"a" * (LIMIT + 1), headers={"content-type": "application/json"})
        assert answer.status_code == 413
        assert answer.json()["error"] == "TooLarge"
        assert f"at most {LIMIT} bytes" in answer.json()["detail"]

    def test_an_address_that_is_long_is_refused_unread(self, client: TestClient) -> None:
        """Before it is parsed: thousands of parameters took half a second each time, and a page that lists them."""
        answer = client.get("/ranking", params={f"x{number}": "" for number in range(2_000)})
        assert (answer.status_code, answer.json()["error"]) == (414, "TooLarge")
        assert client.get("/ranking", params={"source": "x" * 33_000}).status_code == 414
        some = client.get("/api/v1/ranking", params={f"x{number}": "" for number in range(100)})
        assert (some.status_code, len(some.json()["problems"])) == (400, 20)
        assert "the first 20 of 100" in some.json()["detail"]

    def test_all_columns_may_be_chosen(self, client: TestClient) -> None:
        """By the form, one parameter each, and in the address that follows."""
        answer = client.get("/", params={"columns": list(CHOOSABLE)}, headers={"Accept": "text/html"})
        assert answer.status_code == 200

    def test_a_body_that_turns_out_to_be_large_is_broken_off(self, client: TestClient) -> None:
        """Without a length what comes is counted: a decision is read before anybody is asked for a token."""
        answer = client.post(DECISION, content=pieces(2 * LIMIT), headers={"content-type": "application/json"})
        assert answer.status_code == 413
        assert answer.json()["error"] == "TooLarge"

    def test_what_is_small_passes(self, client: TestClient) -> None:
        """A decision of usual size gets as far as the question for a token."""
        assert client.post(DECISION, json={"decision": "accept"}).status_code == 401

    @pytest.mark.parametrize("path", ["/login", DECISION])
    def test_who_drips_or_leaves_is_let_go(
        self, client: TestClient, path: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A body that does not come is 408 after a time; to leave in the middle of one is no fault of the service."""
        monkeypatch.setattr(request_limits, "SECONDS", 0.2)
        assert run(_post, client.app, path, None) == [408]
        left = run(_post, client.app, path, {"type": "http.disconnect"})
        assert left == ([] if path == "/login" else [400])  # FastAPI answers for the JSON that it reads


async def _post(app: ASGIApp, path: str, then: Message | None) -> list[int]:
    """Send a part of a body, then a message or nothing more; return the status of the answer, if any."""
    kind = b"application/x-www-form-urlencoded" if path == "/login" else b"application/json"
    scope: dict[str, Any] = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
        "scheme": "http", "headers": [(b"host", b"127.0.0.1"), (b"content-type", kind), (b"content-length", b"1000")],
        "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 9), "root_path": "", "http_version": "1.1", "state": {},
    }  # fmt: skip
    coming: list[Message] = [{"type": "http.request", "body": b"a", "more_body": True}, *([then] if then else [])]
    statuses = []

    async def receive() -> Message:
        return coming.pop(0) if coming else await anyio.sleep_forever()

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await app(scope, receive, send)
    return statuses
