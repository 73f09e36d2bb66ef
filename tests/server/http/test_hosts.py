"""A request names the host of the service or a loopback address; a redirect of the service names none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient
from support.profile import examples
from support.server.people import ON_SQLITE

from codec_superb.server.app import create_app
from codec_superb.server.http.hosts import is_loopback, relative
from codec_superb.server.settings import Settings


@ON_SQLITE
@pytest.mark.parametrize(
    ("base_url", "good", "bad"),
    [
        ("https://board.example", ["board.example", "Board.example:443", "127.0.0.1:8000", "[::1]:8000"],
         ["evil.example", "board.example.evil.example", "", "127.0.0.1.evil.example"]),
        ("http://0.0.0.0:8000", ["anything.example", "10.0.0.7:8000"], []),
        ("http://[::1]:8000", ["[::1]:8000", "localhost"], ["[::2]:8000"]),
    ],
)  # fmt: skip
def test_the_host_is_that_of_the_service(settings: Settings, base_url: str, good: list[str], bad: list[str]) -> None:
    """Any other is refused in words, but for probes of monitoring; a name that nobody has set is not known."""
    own = settings.model_copy(update={"base_url": base_url, "free_bytes": 0})
    with TestClient(create_app(own)) as client:
        answers = {host: client.get("/charts/", headers={"host": host}, follow_redirects=False) for host in good + bad}
        assert {host: answer.status_code for host, answer in answers.items()} == dict.fromkeys(
            good, 307
        ) | dict.fromkeys(bad, 421)
        assert {answers[host].headers["location"] for host in good} == {"/charts"}
        assert all("expected a request for" in answers[host].json()["detail"] for host in bad)
        assert client.get("/healthz", headers={"host": "evil.example"}).status_code == 200


@ON_SQLITE
def test_a_redirect_leads_nowhere_else(settings: Settings) -> None:
    """Whatever host a request names, and whatever its path begins with."""
    with TestClient(create_app(settings)) as client:
        for path in ("/charts/?metric=stoi", "/api/v1/leaderboard/"):
            answer = client.get(path, headers={"host": "evil.example"}, follow_redirects=False)
            assert answer.headers["location"] == path.replace("/?", "?").rstrip("/")


@given(st.text("/\\ab.?#@:", max_size=12))
@examples(100)
def test_no_location_names_a_host(path: str) -> None:
    """A path of several slashes would be read as a host by a browser."""
    found = relative(f"http://evil.example/{path}".encode())
    assert found.startswith(b"/")
    assert not found.startswith((b"//", b"/\\"))


@pytest.mark.parametrize(
    ("host", "is_one"),
    [
        ("LOCALHOST:80", True), ("127.9.9.9", True), ("::1", True), ("[::1]:80", True), ("a", False),
        ("127.0.0.1:80@evil.example", False), ("[::1]@evil.example", False),
    ],
)  # fmt: skip
def test_loopback(host: str, is_one: bool) -> None:
    """With or without a port, in any case; what follows is a port or nothing."""
    assert is_loopback(host) is is_one
