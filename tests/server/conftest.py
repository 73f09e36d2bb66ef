"""Databases and applications for the tests of the service: what touches data runs on both kinds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from support.made_once import made_once
from support.server.databases import database_of_kind
from support.server.shared_dialects import shared_dialects
from support.server.warm_checks import WarmChecks

from codec_superb.server import app as service
from codec_superb.server.app import create_app
from codec_superb.server.database.migrate import upgrade
from codec_superb.server.database.session import Database
from codec_superb.server.settings import Settings

BACKENDS = ("sqlite", "postgresql")
DRAWN = {"sqlite": 320, "postgresql": 120}
"""Tests of the service in short; one takes twice as long on PostgreSQL."""
ATTACKS = ("ingest/test_claims.py", "names/test_attacks.py", "names/test_credits.py")
"""What one token could do once, and must not: all of it in short too, on either kind of database."""


@pytest.hookimpl(tryfirst=True)  # before cases are chosen
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In short a test runs on one kind of database, ``DRAWN`` of them and attacks; what touches it itself on both."""
    for item in items:
        parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        for name, value in parameters.items():
            if isinstance(value, str) and value in BACKENDS and "tests/server/database/" not in item.nodeid:
                item.add_marker(pytest.mark.sample(1, over=name))
                if not item.path.as_posix().endswith(ATTACKS):
                    item.add_marker(pytest.mark.sample(DRAWN[value], among=f"the service on {value}"))


@pytest.fixture(scope="session", autouse=True)
def _warm_checks() -> Iterator[WarmChecks]:
    """Let processes that check uploads serve one test after another."""
    warm = WarmChecks()
    with warm.used():
        yield warm


@pytest.fixture(scope="session", autouse=True)
def _light_starts() -> Iterator[None]:
    """Let a service compile no statement that another has compiled, and make no page before it is asked for."""
    with shared_dialects(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(service, "prepare", lambda _snapshot: None)  # what it makes is made by the first request too
        yield


@pytest.fixture
def fresh_checks(_warm_checks: WarmChecks) -> Iterator[None]:
    """For tests of how a service starts: its fork server is its own, and there from the beginning."""
    _warm_checks.paused = True
    yield
    _warm_checks.paused = False


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a file that the migrations made, to be copied."""

    def make(folder: Path) -> Path:
        folder.mkdir()
        upgrade(f"sqlite:///{folder / 'migrated.sqlite'}")
        return folder / "migrated.sqlite"

    return made_once(tmp_path_factory, "sqlite", make)


@pytest.fixture(params=BACKENDS)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Give an own, migrated, empty database on each kind of server."""
    with database_of_kind(request, tmp_path) as url:
        yield url


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    """Give settings with the database and a storage folder of this test; pages show all that it stores."""
    return Settings(
        database=database_url, storage=tmp_path / "storage", secret_key="x" * 40, default_source="runs",
        verify_accepted=False,
    )  # fmt: skip


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """Open the test's database beside the service."""
    opened = Database(database_url)
    yield opened
    opened.close()


@pytest.fixture
def app(settings: Settings) -> FastAPI:
    """Make the application; it is started by ``client``."""
    return create_app(settings)


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    """Run the application in this process and talk to it."""
    with TestClient(app) as running:
        yield running
