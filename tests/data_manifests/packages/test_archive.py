"""Members of sdists and wheels are read, and nothing else happens."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from support.datasets.package_files import sdist, wheel

from codec_superb.data_manifests.errors import FetchError, ManifestError
from codec_superb.data_manifests.packages import archive
from codec_superb.data_manifests.packages.archive import read_members


@pytest.mark.parametrize(("make", "name", "root"), [(sdist, "p-1.tar.gz", "p-1/"), (wheel, "p-1-py3-none-any.whl", "")])
def test_wanted_members_are_read(tmp_path: Path, make: object, name: str, root: str) -> None:
    """Only what was asked for is given, under its full path."""
    assert callable(make)
    (tmp_path / name).write_bytes(make("p", "1", {"a.wav": b"one", "b/c.wav": b"two", "d.wav": b"three"}))
    members = dict(read_members(tmp_path / name, {f"{root}a.wav", f"{root}b/c.wav"}))
    assert members == {f"{root}a.wav": b"one", f"{root}b/c.wav": b"two"}


@pytest.mark.parametrize(("make", "name"), [(sdist, "p-1.tar.gz"), (wheel, "p-1-py3-none-any.whl")])
def test_a_member_that_is_not_there_is_named(tmp_path: Path, make: object, name: str) -> None:
    """A manifest that asks for it is wrong."""
    assert callable(make)
    (tmp_path / name).write_bytes(make("p", "1", {}))
    with pytest.raises(ManifestError, match=r"has no plain file p-1/gone\.wav"):
        list(read_members(tmp_path / name, {"p-1/gone.wav"}))


def test_a_link_in_an_archive_is_not_followed(tmp_path: Path) -> None:
    """A link may point anywhere on the machine that reads it."""
    with tarfile.open(tmp_path / "p-1.tar.gz", "w:gz") as made:
        link = tarfile.TarInfo("p-1/a.wav")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        made.addfile(link)
    with pytest.raises(ManifestError, match=r"has no plain file p-1/a\.wav"):
        list(read_members(tmp_path / "p-1.tar.gz", {"p-1/a.wav"}))


@pytest.mark.parametrize(("make", "name", "root"), [(sdist, "p-1.tar.gz", "p-1/"), (wheel, "p-1-py3-none-any.whl", "")])
def test_a_member_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: object, name: str, root: str
) -> None:
    """A small file that unpacks to gigabytes does not fill the memory."""
    assert callable(make)
    monkeypatch.setattr(archive, "MAX_MEMBER_BYTES", 1000)
    (tmp_path / name).write_bytes(make("p", "1", {"a.wav": bytes(1001)}))
    with pytest.raises(ManifestError, match="unpacks to 1001 bytes, more than 1000"):
        list(read_members(tmp_path / name, {f"{root}a.wav"}))


@pytest.mark.parametrize("name", ["p-1.tar.gz", "p-1.whl"])
def test_what_is_no_archive_is_told(tmp_path: Path, name: str) -> None:
    """A file of another kind, or half of one, is an error that names it."""
    whole = io.BytesIO(sdist("p", "1", {"a.wav": bytes(range(256)) * 400})).getvalue()
    for content in (b"<html>not found</html>", whole[: len(whole) // 2]):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FetchError, match="cannot be read as an archive"):
            list(read_members(tmp_path / name, {"p-1/a.wav", "x"}))
