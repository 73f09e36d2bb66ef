"""A leaderboard to send to, in the process of the tests."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from support.server.ingest import categories, register, token_of

from codec_superb.server.app import create_app
from codec_superb.server.database.migrate import upgrade
from codec_superb.server.database.session import Database
from codec_superb.server.settings import Settings


@pytest.fixture(scope="module")
def leaderboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Run a leaderboard in this process; give its address and a token."""
    settings = Settings(storage=tmp_path_factory.mktemp("storage"), secret_key="x" * 40, uploads_per_hour=1_000_000)
    upgrade(settings.database_url)
    database = Database(settings.database_url)
    register(database, "mini", categories())
    token = token_of(database, "ann")
    token_of(database, "bob")
    database.close()
    server = uvicorn.Server(uvicorn.Config(create_app(settings), log_level="error"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", token
        server.should_exit = True
        thread.join()


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prepare no dataset, and set no token."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CODEC_SUPERB_TOKEN", raising=False)
