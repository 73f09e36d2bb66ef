"""Nobody else on the machine can read database, secret key, uploads and backups."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.logged import Logged

from codec_superb.cli.main import call
from codec_superb.server.operations.preparation import prepare
from codec_superb.server.operations.private_files import mend_modes
from codec_superb.server.settings import Settings


@pytest.fixture
def _wide() -> Iterator[None]:
    """Have the umask of most machines."""
    before = os.umask(0o022)
    yield
    assert os.umask(before) == 0o022, "a command left its own umask behind"


def readable(folder: Path) -> list[str]:
    """List the names in a folder, and below those that others may enter, that others may use."""
    found = [path for path in sorted(folder.iterdir()) if stat.S_IMODE(path.stat().st_mode) & 0o077]
    return [path.name for path in found] + [name for path in found if path.is_dir() for name in readable(path)]


@pytest.mark.usefixtures("_wide")
def test_commands_keep_it_private(tmp_path: Path, logged: Logged) -> None:
    """What they make, and what an older version had left open, without a change of what is inside."""
    storage, backups = tmp_path / "storage", tmp_path / "backups"
    backups.mkdir()
    options = ["--storage", str(storage)]
    assert call(["admin", "token", "create", "ann", *options]) == 0
    assert call(["admin", "backup", str(backups), *options]) == 0
    assert readable(tmp_path) == ["backups"]
    for path in (storage, *storage.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert len(readable(tmp_path)) > 5
    prepare(Settings(storage=storage))
    assert any("leaderboard.sqlite'" in told and "'644'" in told for told in map(str, (r.msg for r in logged.records)))
    assert readable(tmp_path) == ["backups"]


@pytest.mark.usefixtures("_wide")
def test_what_is_not_the_services_own_is_left_alone(tmp_path: Path) -> None:
    """A shared folder with the sticky bit, as /tmp is, keeps its rights; a second look mends nothing."""
    shared, other = tmp_path / "shared", tmp_path / "shared/other"
    shared.mkdir()
    shared.chmod(0o1777)
    other.touch(0o644)
    settings = Settings(storage=shared, database=f"sqlite:///{tmp_path / 'elsewhere.sqlite'}")
    prepare(settings)
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777
    assert sorted(readable(tmp_path)) == ["other", "shared"]
    assert mend_modes(settings) == []
