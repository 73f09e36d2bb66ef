"""Tokens, sessions and forms of moderators, for tests that act as one."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from codec_superb.server.database.session import Database
from codec_superb.server.people import tokens
from codec_superb.server.people.own_windows import OwnWindows

ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""For tests of what is decided without asking the database, of which one kind then is enough."""
_FIELD = re.compile(r'name="csrf" value="([^"]+)"')


def make_token(
    database: Database, name: str = "mod", scopes: Sequence[str] = ("moderate",), days: int | None = None
) -> str:
    """Make a token and return its secret."""
    with database.transaction(write=True) as session:
        return tokens.create(session, name, scopes, actor="the test", expires_days=days)[1]


def counted_requests(client: TestClient) -> int:
    """Return how many requests the limits of a service have counted, in its memory or in PostgreSQL."""
    storage = client.app.state.limiter.storage  # type: ignore[attr-defined]  # Starlette's application
    if isinstance(storage, OwnWindows):
        return sum(len(times) for _, times in storage._hits.values())
    with storage._engine.connect() as connection:
        return int(connection.execute(text("SELECT count(*) FROM rate_hits")).scalar_one())


def bearer(secret: str) -> dict[str, str]:
    """Return the header that carries a token."""
    return {"Authorization": f"Bearer {secret}"}


def csrf_of(page: str) -> str:
    """Return the token of the forms of a page; all of them carry the same."""
    found = set(_FIELD.findall(page))
    assert len(found) == 1, found
    return found.pop()


def log_in(client: TestClient, secret: str) -> str:
    """Log in as a browser does, and return the token for the forms of the session."""
    form = csrf_of(client.get("/login").text)
    answer = client.post("/login", data={"csrf": form, "token": secret}, follow_redirects=False)
    assert answer.status_code == 303, answer.text
    return csrf_of(client.get("/moderation").text)
