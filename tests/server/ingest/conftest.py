"""A service for the tests of uploads: one for all of them on each kind of database, since starting one takes a second."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support_ingest import Service, running

from codec_superb.server.settings import Settings


@pytest.fixture(scope="package", params=["sqlite", "postgresql"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run the service on each kind of database; tests use codec names of their own."""
    folder = tmp_path_factory.mktemp("service")
    if request.param == "sqlite":
        file = folder / "leaderboard.sqlite"
        shutil.copy(request.getfixturevalue("migrated_sqlite"), file)
        with running(settings_for(f"sqlite:///{file}", folder)) as found:
            yield found
    else:
        with request.getfixturevalue("postgres").database() as url, running(settings_for(url, folder)) as found:
            yield found


def settings_for(url: str, folder: Path) -> Settings:
    """Settings with generous rate limits."""
    return Settings(
        database=url, storage=folder / "storage", secret_key="x" * 40, uploads_per_hour=1_000_000,
        computations_per_minute=1_000_000,
    )  # fmt: skip
