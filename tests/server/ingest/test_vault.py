"""The folder of accepted files: leftovers go, everything that is named or young stays, whoever cleans when."""

from __future__ import annotations

import os
import shutil
import time
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient
from support.logged import Logged
from support.pipeline.stats import sha
from support.server.ingest import UPLOADS, ZIP, Service, drawn

from codec_superb.server.app import create_app
from codec_superb.server.database.models import Submission
from codec_superb.server.ingest.receive import new_upload
from codec_superb.server.settings import Settings
from codec_superb.server.storage.submission_files import (
    ORPHAN_AGE_S,
    hold_off_cleaning,
    move_in,
    remove_orphans,
    submission_path,
)


def aged(path: Path, seconds: float) -> Path:
    """Write a file that is as old as that."""
    path.write_bytes(b"left over")
    then = time.time() - seconds
    os.utime(path, (then, then))
    return path


class TestClean:
    """What a start removes."""

    def test_leftovers_go_and_all_else_stays(self, service: Service) -> None:
        """Uploads that ended with their process and old files without a row go; all others stay, however they look."""
        settings = service.settings
        answer = service.send(drawn("kept_16k"))
        assert answer.is_success
        kept = service.stored()
        long_ago = ORPHAN_AGE_S + settings.check_seconds + 60
        for digest in kept:
            os.utime(submission_path(settings, digest), (0, 0))
        gone = [aged(settings.incoming / "young", 1), aged(submission_path(settings, sha("nobody")), long_ago)]
        running = new_upload(settings)
        stays = [
            aged(running.path, long_ago),
            aged(submission_path(settings, sha("somebody")), 60),
            aged(settings.files / "readme.txt", long_ago),
        ]
        assert remove_orphans(settings, service.database) == 2
        assert [path.exists() for path in gone] == [False, False]
        assert all(path.exists() for path in stays)
        assert service.stored() == kept
        running.discard()
        for path in stays[1:]:
            path.unlink()

    def test_nothing_is_cleaned_while_a_file_is_being_named(self, service: Service) -> None:
        """A file that is in its place and not yet named is safe, however old it looks."""
        settings = service.settings
        path = aged(submission_path(settings, sha("about to be named")), 10**6)
        with hold_off_cleaning(settings), hold_off_cleaning(settings):  # several uploads at once
            assert remove_orphans(settings, service.database) == 0
            assert path.exists()
        assert remove_orphans(settings, service.database) == 1

    def test_a_file_left_by_a_killed_service_does_no_harm(self, service: Service) -> None:
        """Killed between file and row: the retry stores the same file as if nothing had been."""
        data = drawn("orphan_16k")
        upload = service.settings.incoming / "orphan"
        upload.write_bytes(data)
        place = move_in(service.settings, upload, sha256(data).hexdigest())
        assert place.read_bytes() == data
        assert not upload.exists()
        assert service.send(data).status_code == 201
        service.stored()


class TestWhoseFiles:
    """Only the database whose files they are has them swept, and nothing that was stored is ever removed."""

    def test_another_database_sweeps_nothing(self, service: Service, migrated_sqlite: Path, tmp_path: Path) -> None:
        """A start on an empty database beside the files of this one leaves all of them, and is not ready."""
        assert service.send(drawn("stays_16k")).is_success
        for digest in service.stored():
            os.utime(submission_path(service.settings, digest), (0, 0))
        waits = aged(service.settings.incoming / "waits", 10**6)
        url = f"sqlite:///{shutil.copy(migrated_sqlite, tmp_path)}"
        other = service.settings.model_copy(update={"database": url})
        owner = service.settings.storage / "database_id"
        for bound in (True, False):  # and an empty database takes no files that nobody owns
            with TestClient(create_app(other)) as client:
                (problem,) = client.get("/readyz").json()["problems"]
                assert (problem["path"], owner.exists()) == ("files", bound)
            owner.unlink(missing_ok=True)
        service.stored()
        assert waits.exists()
        assert service.client.get("/readyz").json() == {"status": "ready"}
        assert owner.exists()
        assert remove_orphans(service.settings, service.database) == 1

    def test_a_database_stays_with_its_files(self, service: Service, tmp_path: Path) -> None:
        """With a folder that is not mounted, another one or none of its own it is not ready and takes nothing.

        So it is while it runs and at a start, whether the folder around says whose it is, until the files are back.
        """
        settings, data = service.settings, drawn("mine_16k")
        assert service.send(data).status_code == 201
        aside = settings.storage / "aside"

        def refused(client: TestClient) -> None:
            problems = client.get("/readyz").json()["problems"]
            assert [(each["path"], each["got"][:4]) for each in problems] == [("files", "none")]
            sent = client.post(UPLOADS, content=drawn("new_16k", seed=2), headers=ZIP | service.account("ann"))
            assert (sent.status_code, "without its own" in sent.json()["detail"]) == (503, True)

        settings.files.rename(aside)
        (gone,) = service.client.get("/readyz").json()["problems"]
        assert (gone["path"], gone["got"]) == ("submissions", "No such file or directory")
        settings.files.mkdir()
        refused(service.client)
        (settings.files / f"{'0' * 64}.zip").touch()  # another board's
        refused(service.client)
        for folder in (settings.storage, tmp_path / "new"):
            with TestClient(create_app(settings.model_copy(update={"storage": folder}))) as client:
                refused(client)
        assert not (tmp_path / "new" / "database_id").exists()
        (aside / f"{sha256(data).hexdigest()}.zip").rename(tmp_path / "kept")
        (settings.files / f"{sha256(data).hexdigest()}.zip").mkdir()  # cannot be opened, as another user's file
        refused(service.client)
        (tmp_path / "kept").rename(aside / f"{sha256(data).hexdigest()}.zip")
        shutil.rmtree(settings.files)
        aside.rename(settings.files)
        assert service.client.get("/readyz").json() == {"status": "ready"}
        assert service.send(drawn("new_16k", seed=2)).status_code == 201

    def test_what_was_stored_comes_back(self, service: Service, logged: Logged) -> None:
        """A file whose row was gone for a while is served from quarantine; one that is lost, once it is resent."""
        settings, data = service.settings, drawn("again_16k")
        assert service.send(drawn("beside_16k", seed=2)).status_code == 201
        sent = service.send(data).json()
        path = submission_path(settings, sha256(data).hexdigest())
        hidden = update(Submission).where(Submission.id == sent["id"])
        with service.database.transaction(write=True) as session:  # as in an older dump
            session.execute(hidden.values(file_sha256="0" * 64))
        os.utime(path, (0, 0))
        assert remove_orphans(settings, service.database) == 1
        assert (settings.storage / "quarantine" / path.name).exists()
        assert path.name in logged.text
        with service.database.transaction(write=True) as session:
            session.execute(hidden.values(file_sha256=path.stem))
        address = f"{UPLOADS}/{sent['id']}/file"
        assert service.client.get(address).status_code == 200
        path.unlink()
        for left in settings.files.glob("*.public.zip"):
            left.unlink()
        lost = service.client.get(address)
        assert (lost.status_code, lost.json()["error"]) == (503, "FileMissing")
        assert path.stem in service.client.get("/readyz").json()["warnings"][0]
        assert service.send(data).status_code == 200
        assert service.client.get(address).status_code == 200
        assert service.client.get("/readyz").json() == {"status": "ready"}


def test_a_start_cleans(settings: Settings) -> None:
    """The application does it by itself, before it answers."""
    settings.incoming.mkdir(parents=True)
    leftover = aged(settings.incoming / "old", 10**6)
    with TestClient(create_app(settings)):
        assert not leftover.exists()


@pytest.mark.parametrize("name", ["x", "../x", "0" * 64])
def test_files_are_named_by_their_hash(settings: Settings, name: str) -> None:
    """A name in the folder of files is a hash and nothing else that a client chose."""
    assert submission_path(settings, sha(name)).parent == settings.files
