"""A state to cite shows what the board showed: what was run again first, with the results behind those in front."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from support.server.board import board_as_it_comes, make_submission, make_verified

from codec_superb.metrics.table import CATEGORIES
from codec_superb.server.database.session import Database
from codec_superb.server.moderation.service import decide
from codec_superb.server.settings import Settings

NAMES = ("mp3_64k", "opus_12k", "opus_6k")


@pytest.fixture
def app(settings: Settings) -> FastAPI:
    """Make a board as it comes."""
    return board_as_it_comes(settings)


@pytest.fixture
def client(app: FastAPI, database: Database) -> Iterator[TestClient]:
    """Serve three honest codecs, one of which another account ran on a further dataset, and a fiction."""
    with database.transaction(write=True) as session:
        for name in NAMES:
            make_verified(session, name, "ann")
        make_verified(session, NAMES[0], "mallory", "mini", "other")
        make_submission(session, "fiction_1k", 1.0, 0.9, owner="mallory")  # the ninth change
    with TestClient(app) as running:
        yield running


def test_a_cited_state_ranks_what_the_board_ranked(client: TestClient) -> None:
    """With whom the board shows, at the hash of their files; all submissions are one click away."""
    board = client.get("/api/v1/leaderboard").json()["rows"]
    state = client.get("/api/v1/snapshots/9").json()
    assert state["sources"] == dict.fromkeys(CATEGORIES, "verified")
    told = [(row["codec"], row["submitter"], row["rank"]) for row in state["categories"]["speech"]]
    assert told == [(row["codec"], row["submitter"], row["rank"]) for row in board]
    assert told == [(name, "ann", [1, 3]) for name in NAMES]
    (behind,) = state["run_again"]
    assert behind["codec"] == NAMES[0]
    shown = next(row for row in state["categories"]["speech"] if row["codec"] == NAMES[0])
    assert shown["submission"] == behind["submission"]
    assert behind["file_sha256"] in state["canonical"]
    assert hashlib.sha256(state["canonical"].encode()).hexdigest() == state["sha256"]
    everything = client.get("/api/v1/snapshots/9?source=runs").json()
    assert everything["categories"]["speech"][0]["codec"] == "fiction_1k"
    assert everything["sha256"] == state["sha256"]


def test_its_page_shows_the_same(client: TestClient) -> None:
    """And keeps what was chosen in its links."""
    page = client.get("/snapshots/9").text
    assert "fiction_1k" not in page
    assert all(name in page for name in NAMES)
    assert 'href="/snapshots/9?category=speech&amp;source=runs">all submissions' in page
    everything = client.get("/snapshots/9?category=music&source=runs").text
    assert "fiction_1k" in everything
    assert 'href="/snapshots/9?category=audio&amp;source=runs"' in everything
    # the fiction was the last change
    assert "all submissions" not in client.get("/snapshots/8").text


def test_a_result_behind_that_was_taken_back_names_nobody(client: TestClient, database: Database) -> None:
    """It stays in the states that had it, without its sender; the state keeps its hash."""
    before = client.get("/api/v1/snapshots/9").json()
    with database.transaction(write=True) as session:
        decide(session, before["run_again"][0]["submission"], "withdraw", "a mistake", actor="moderator")
    client.app.state.board.refresh()  # type: ignore[attr-defined]  # Starlette's application
    after = client.get("/api/v1/snapshots/9").json()
    assert after["sha256"] == before["sha256"]
    told = {row["codec"]: (row["submitter"], row["rank"]) for row in after["categories"]["speech"]}
    assert told == {NAMES[0]: ("", [1, 3]), NAMES[1]: ("ann", [1, 3]), NAMES[2]: ("ann", [1, 3])}
    assert client.get("/snapshots/9").text.count("no longer public") == 1
    assert client.get("/api/v1/snapshots/10").json()["run_again"] == []
