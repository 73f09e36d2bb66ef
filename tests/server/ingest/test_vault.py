"""The folder of accepted files: leftovers go, everything that is named or young stays, whoever cleans when."""

from __future__ import annotations

import os
import time
from hashlib import sha256
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from support.pipeline.stats import sha
from support.server.ingest import Service, drawn

from codec_superb.server.app import create_app
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
