"""A board with a codec that really runs, and private datasets of real clips."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from support.server.codec_page import store
from support.server.ingest import categories, register
from support.server.private import CODEC, Board, pack_public, private_clips

from codec_superb.server.database.session import Database
from codec_superb.server.settings import Settings


@pytest.fixture(scope="session")
def public_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pack results of the codec on the public dataset."""
    return pack_public(tmp_path_factory.mktemp("public"))


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Synthesise a private dataset in which every clip works."""
    return private_clips(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="session")
def broken_clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Synthesise a private dataset in which one clip fails."""
    return private_clips(tmp_path_factory.mktemp("broken"), broken=True)


@pytest.fixture(scope="session")
def private_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the one home of these tests: with a home each, no test could take the worker of another."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def board(
    client: TestClient, app: FastAPI, database: Database, settings: Settings, public_file: Path,
    private_home: Path, monkeypatch: pytest.MonkeyPatch,
) -> Board:  # fmt: skip
    """Put the codec on the board."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(private_home))
    register(database, "mini", categories(63))
    with database.transaction(write=True) as session:
        submission = store(session, settings.files, public_file)
    app.state.board.refresh()
    return Board(client, app, database, settings, submission, CODEC)
