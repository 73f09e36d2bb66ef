"""Alive means that the process answers; ready means that an upload would work, and otherwise why it would not."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient
from support.server.postgres import PostgresServer

from codec_superb.server.app import create_app
from codec_superb.server.database import migrate
from codec_superb.server.database.session import Database
from codec_superb.server.errors import OperationError
from codec_superb.server.operations.preparation import make_storage, prepare
from codec_superb.server.settings import Settings


def _reasons(client: TestClient) -> dict[str, dict[str, Any]]:
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.headers["cache-control"] == "no-store"
    return {problem["path"]: problem for problem in answer.json()["problems"]}


class TestReady:
    """``GET /readyz``."""

    def test_says_yes(self, client: TestClient) -> None:
        """A service with everything in place is ready."""
        answer = client.get("/readyz")
        assert (answer.status_code, answer.json()) == (200, {"status": "ready"})
        assert answer.headers["cache-control"] == "no-store"

    def test_names_a_schema_of_another_revision(self, client: TestClient, database: Database) -> None:
        """After a downgrade the service is alive but not ready, and says which revision it wants."""
        with database.transaction(write=True) as session:
            session.execute(text("UPDATE alembic_version SET version_num = '0000'"))
        assert _reasons(client)["schema"]["got"] == "0000"
        assert client.get("/healthz").status_code == 200

    def test_goes_on_beside_a_newer_program(
        self, client: TestClient, database: Database, settings: Settings, tmp_path: Path
    ) -> None:
        """On a newer schema that names this program's it is ready, and starts again; on one that does not, neither."""
        later = tmp_path / "migrations"
        shutil.copytree(migrate.FOLDER, later, ignore=shutil.ignore_patterns("__pycache__"))
        script = f"revision, down_revision, oldest = '9999', '{migrate.head()}', '{migrate.head()}'"
        (later / "versions" / "9999_later.py").write_text(f"{script}\ndef upgrade():\n    pass\n", encoding="utf-8")
        migrate.upgrade(settings.database_url, folder=later)
        assert client.get("/readyz").status_code == 200
        prepare(settings)
        with database.transaction(write=True) as session:
            session.execute(text("UPDATE schema_support SET oldest = '9999'"))
        assert _reasons(client)["schema"]["got"] == "9999"
        with pytest.raises(OperationError, match="expected a database schema that this program knows"):
            prepare(settings)

    def test_names_a_storage_that_is_gone(self, client: TestClient, settings: Settings) -> None:
        """A storage folder that vanished, as a mount does, is named without its path."""
        shutil.rmtree(settings.storage)
        assert set(_reasons(client)) == {"storage"}
        assert str(settings.storage) not in client.get("/readyz").text

    def test_a_mount_point_within_the_storage_is_refused(self, settings: Settings) -> None:
        """Before a start, and by a service that runs: it would be ready and take no upload, a rename goes over none."""
        settings.incoming.mkdir(parents=True)
        with TemporaryDirectory(dir="/dev/shm") as elsewhere:
            if Path(elsewhere).stat().st_dev == settings.incoming.stat().st_dev:
                pytest.skip("needs a second file system")
            with TestClient(create_app(settings)) as client:
                settings.files.rmdir()
                settings.files.symlink_to(elsewhere)
                assert _reasons(client)["submissions"]["got"] == "a mount point"
            with pytest.raises(OperationError, match=r"a mount point between them; mount .* itself"):
                prepare(settings)
            assert [*Path(elsewhere).iterdir(), *settings.incoming.iterdir()] == []

    def test_starts_while_another_process_sweeps(self, settings: Settings) -> None:
        """A sweep, which takes what a start renames for an upload that was left behind, does not end the start."""
        make_storage(settings)
        over = Event()

        def sweep() -> None:
            while not over.is_set():
                for left in settings.incoming.iterdir():
                    left.unlink(missing_ok=True)

        thread = Thread(target=sweep)
        thread.start()
        try:
            for _ in range(300):  # without care one in ten met it
                make_storage(settings)
        finally:
            over.set()
            thread.join()

    def test_names_a_full_disk(self, settings: Settings) -> None:
        """Less free space than the setting asks for makes it not ready; no upload takes what is left for the board."""
        full = settings.model_copy(update={"free_bytes": 10**18, "anonymous_uploads": True})
        with TestClient(create_app(full)) as client:
            assert _reasons(client)["disk"]["expected"] == "1000000000000 MB free"
            sent = client.post("/api/v1/submissions", content=b"PK", headers={"Content-Type": "application/zip"})
            assert (sent.status_code, "make room" in sent.json()["detail"]) == (503, True)
            assert client.get("/").status_code == 200
        assert not list(settings.incoming.iterdir())


class TestDatabaseAway:
    """The database cannot be reached any more."""

    def test_alive_not_ready_and_measurable(self, postgres: PostgresServer, tmp_path: Path) -> None:
        """It stays alive and tells its meters, so that a supervisor does not restart it in vain."""
        with ExitStack() as stack:
            database = ExitStack()
            url = database.enter_context(postgres.database(dropped=True))
            settings = Settings(database=url, storage=tmp_path, internal_metrics=True)
            client = stack.enter_context(TestClient(create_app(settings)))
            assert client.get("/readyz").status_code == 200
            database.close()
            assert set(_reasons(client)) == {"database"}
            assert str(postgres.socket) not in client.get("/readyz").text
            assert client.get("/healthz").status_code == 200
            assert client.get("/metrics-internal").status_code == 200
