"""Bodies of requests that send no file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from codec_superb.server.http.body_limit import LIMIT

DECISION = "/api/v1/submissions/abc/decision"


def pieces(size: int) -> Iterator[bytes]:
    """Give a body whose size no header tells, as JSON that never ends."""
    yield b'{"reason": "'
    for _ in range(size // 1000):
        yield b"a" * 1000


class TestBodyLimit:
    """No request but an upload holds much in memory."""

    @pytest.mark.parametrize("path", [DECISION, "/login", "/compare/listen?codec=a&codec=b&seed=x", "/"])
    def test_a_body_that_says_it_is_large_is_refused_unread(self, client: TestClient, path: str) -> None:
        """The length in the header is enough for a 413 that says what was expected."""
        answer = client.post(path, content=b"a" * (LIMIT + 1), headers={"content-type": "application/json"})
        assert answer.status_code == 413
        assert answer.json()["error"] == "TooLarge"
        assert f"at most {LIMIT} bytes" in answer.json()["detail"]

    def test_a_body_that_turns_out_to_be_large_is_broken_off(self, client: TestClient) -> None:
        """Without a length what comes is counted: a decision is read before anybody is asked for a token."""
        answer = client.post(DECISION, content=pieces(2 * LIMIT), headers={"content-type": "application/json"})
        assert answer.status_code == 413
        assert answer.json()["error"] == "TooLarge"

    def test_what_is_small_passes(self, client: TestClient) -> None:
        """A decision of usual size gets as far as the question for a token."""
        assert client.post(DECISION, json={"decision": "accept"}).status_code == 401
