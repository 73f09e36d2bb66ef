"""The signing key: configured, or made once, whoever starts first."""

from __future__ import annotations

import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from codec_superb.pipeline.verification.keys import KeyFault, create_key
from codec_superb.server.people.secret import FILE, make_secret, secret_key
from codec_superb.server.settings import Settings


def test_a_configured_key(tmp_path: Path) -> None:
    """It is used, and no file is made."""
    assert secret_key(Settings(storage=tmp_path, secret_key="k" * 32)) == "k" * 32
    assert list(tmp_path.iterdir()) == []


def test_a_key_is_made_once(tmp_path: Path) -> None:
    """Twenty that start at once get one key, in one file that this user alone can read."""
    settings, together = Settings(storage=tmp_path / "new", secret_key=None), Barrier(20)

    def start(_: int) -> str:
        together.wait()
        return secret_key(settings)

    with ThreadPoolExecutor(20) as pool:
        keys = set(pool.map(start, range(20)))
    assert len(keys) == 1
    assert len(keys.pop()) >= 64
    (file,) = settings.storage.iterdir()
    assert file.name == FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_file_system_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FAT and some network shares have none: the key is made all the same, and one that is there is kept."""

    def link(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    settings = Settings(storage=tmp_path, secret_key=None)
    key = secret_key(settings)
    make_secret(tmp_path / FILE)
    assert secret_key(settings) == key
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    create_key(tmp_path / "signing_key")
    with pytest.raises(KeyFault, match="never overwritten"):
        create_key(tmp_path / "signing_key")


def test_a_file_without_a_key(tmp_path: Path) -> None:
    """A short key is refused with what to do: it could be guessed."""
    (tmp_path / FILE).write_text("short\n")
    with pytest.raises(ValueError, match="remove the file"):
        secret_key(Settings(storage=tmp_path, secret_key=None))
