"""Where backups are written: nothing is overwritten, nothing is left, and who may not read or write is told why."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from support.server.rows import fill_tables

from codec_superb.server.database import migrate
from codec_superb.server.database.models import now
from codec_superb.server.database.session import Database
from codec_superb.server.errors import OperationError
from codec_superb.server.operations import backup as backups
from codec_superb.server.operations.backup import make_backup
from codec_superb.server.operations.restore import verify_backup
from codec_superb.server.settings import Settings


@pytest.fixture
def filled() -> Iterator[Settings]:
    """Give a leaderboard with rows in every table, where every user may go."""
    with TemporaryDirectory() as folder:
        settings = Settings(storage=Path(folder) / "storage")
        settings.files.mkdir(parents=True)
        migrate.upgrade(settings.database_url)
        database = Database(settings.database_url)
        with database.transaction(write=True) as session:
            fill_tables(session, settings.files)
        database.close()
        for place in (Path(folder), settings.storage, *settings.storage.iterdir()):
            place.chmod(0o777)
        yield settings


@contextmanager
def another_user() -> Iterator[None]:
    """Be nobody, where the tests run as root, whom no mode keeps out."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def test_no_backup_overwrites_another(filled: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder each has a name of its own, also of four at once in one second; a named file stays what it is."""
    moment = now()
    monkeypatch.setattr(backups, "now", lambda: moment)
    abandoned, young = tmp_path / ".backup-00c0dec0.zip", tmp_path / ".backup-00c0dec1.zip"
    another = tmp_path / ".backup-of-mine.zip"
    for left in (abandoned, young, another):
        left.touch()
    for left in (abandoned, another):
        os.utime(left, (0, 0))
    with ThreadPoolExecutor(4) as pool:
        made = [backup.path for backup in pool.map(lambda _: make_backup(filled, tmp_path), range(4))]
    stem = min(made, key=lambda path: len(path.name)).stem
    assert sorted(path.stem for path in made) == [stem, f"{stem}-2", f"{stem}-3", f"{stem}-4"]
    assert Path(stem).match("leaderboard-20??????T??????Z")
    assert all(verify_backup(path) and path.stat().st_mode & 0o777 == 0o600 for path in made)
    assert {*tmp_path.glob(".backup-*")} == {young, another}  # of a killed process is the one that is gone
    with pytest.raises(OperationError, match="backups are not overwritten"):
        make_backup(filled, made[0])
    with ThreadPoolExecutor(2) as pool:
        named = [pool.submit(make_backup, filled, tmp_path / "named.zip") for _ in range(2)]
    assert [type(each.exception()) for each in named if each.exception()] == [OperationError]
    assert verify_backup(tmp_path / "named.zip")


def test_who_may_not_is_told(filled: Settings) -> None:
    """A file or folder of another user is named with its owner and the way on, and so is a target that is no folder."""
    refused = min(filled.files.glob("*.zip"))
    refused.chmod(0)
    target, owner = filled.storage / "made", refused.owner()
    with another_user():
        with pytest.raises(OperationError, match=f"read {refused}, got: Permission denied; it belongs to {owner}: run"):
            make_backup(filled, target)
        assert list(target.iterdir()) == []
    filled.files.chmod(0)
    with another_user(), pytest.raises(OperationError, match=f"{filled.files} belongs to {owner}: run this command"):
        make_backup(filled, target)
    filled.files.chmod(0o700)
    refused.unlink()
    refused.mkdir()
    with pytest.raises(OperationError, match=f"read {refused}, got: Is a directory; repair the disk"):
        make_backup(filled, target)
    with pytest.raises(OperationError, match=r"cannot write .*: File exists; free space, or name another place"):
        make_backup(filled, filled.storage / "leaderboard.sqlite" / "backup.zip")
    assert list(target.iterdir()) == []
