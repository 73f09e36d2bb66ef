"""Members of Debian packages are read without dpkg, and a damaged or hostile package is an error that names it."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.datasets.package_files import ar, deb

from codec_superb.data_manifests.errors import FetchError, ManifestError
from codec_superb.data_manifests.packages import archive
from codec_superb.data_manifests.packages.archive import read_members, select_members

_MEMBERS = {"usr/share/a.txt": b"one", "usr/share/b/c.ogg": b"two" * 5000, "usr/share/d.txt": b"three"}


def _every(_name: str) -> bool:
    return True


def _package(folder: Path, content: bytes) -> Path:
    path = folder / "p_1_all.deb"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("compression", ["xz", "gz", "bz2", ""])
def test_members_are_read_in_the_order_of_the_archive(tmp_path: Path, compression: str) -> None:
    """Under their names without ``./``, whatever deb(5) allows data.tar to be compressed with."""
    path = _package(tmp_path, deb(_MEMBERS, compression))
    assert list(select_members(path, _every)) == list(_MEMBERS.items())
    assert list(select_members(path, lambda name: name.endswith("c.ogg"))) == [("usr/share/b/c.ogg", b"two" * 5000)]
    assert dict(read_members(path, {"usr/share/d.txt"})) == {"usr/share/d.txt": b"three"}


def test_a_member_that_is_not_there_is_named(tmp_path: Path) -> None:
    """As with the other archives."""
    path = _package(tmp_path, deb(_MEMBERS))
    with pytest.raises(ManifestError, match=r"p_1_all\.deb has no plain file usr/gone"):
        list(read_members(path, {"usr/share/a.txt", "usr/gone"}))


@pytest.mark.parametrize("name", ["../../etc/passwd", "usr/../../x", "/etc/passwd"])
def test_a_name_that_leads_out_of_the_archive_is_refused(tmp_path: Path, name: str) -> None:
    """Nothing is unpacked under it anyway; a package that tries is none to take sounds from."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as made:
        made.addfile(tarfile.TarInfo(name))
    path = _package(tmp_path, ar({"debian-binary": b"2.0\n", "data.tar.gz": buffer.getvalue()}))
    with pytest.raises(ManifestError, match="leads out of the archive"):
        list(select_members(path, _every))


def test_links_are_not_followed_and_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link's content would come from elsewhere; a small file that unpacks to gigabytes does not fill the memory."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as made:
        link = tarfile.TarInfo("./a")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        made.addfile(link)
        hard = tarfile.TarInfo("./b")
        hard.type, hard.linkname = tarfile.LNKTYPE, "/etc/passwd"
        made.addfile(hard)
    path = _package(tmp_path, ar({"debian-binary": b"2.0\n", "data.tar.gz": buffer.getvalue()}))
    assert list(select_members(path, _every)) == []
    monkeypatch.setattr(archive, "MAX_MEMBER_BYTES", 1000)
    path = _package(tmp_path, deb({"a": bytes(1001)}))
    with pytest.raises(ManifestError, match="unpacks to 1001 bytes, more than 1000"):
        list(select_members(path, _every))


_BAD = {
    "html": (b"<html>not found</html>", "does not begin as an ar archive"),
    "empty": (b"", "does not begin as an ar archive"),
    "no data": (ar({"debian-binary": b"2.0\n"}), "has no member data.tar"),
    "half a header": (ar({"debian-binary": b"2.0\n"}) + b"data.tar.xz", "header is damaged"),
    "no size": (deb(_MEMBERS).replace(b"4         `\n", b"x         `\n", 1), "expected a size in a header"),
    "negative size": (deb(_MEMBERS).replace(b"4         `\n", b"-8        `\n", 1), "expected a size in a header"),
    "size beyond the end": (deb(_MEMBERS).replace(b"4         `\n", b"4999999999`\n", 1), "ends within debian-binary"),
}


@pytest.mark.parametrize(("content", "reason"), list(_BAD.values()), ids=list(_BAD))
def test_what_is_no_debian_package_is_told(tmp_path: Path, content: bytes, reason: str) -> None:
    """The file is named, what is wrong with it, and what to do."""
    path = _package(tmp_path, content)
    with pytest.raises(FetchError, match=rf"p_1_all\.deb cannot be read as an archive: .*{reason}.*; delete it"):
        list(select_members(path, _every))


def test_a_compression_that_is_not_read_is_named(tmp_path: Path) -> None:
    """Packages of Ubuntu are compressed with zst."""
    path = _package(tmp_path, ar({"debian-binary": b"2.0\n", "data.tar.zst": b"x"}))
    with pytest.raises(ManifestError, match=r"data\.tar\.zst is compressed in a way that is not read"):
        list(select_members(path, _every))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), compression=st.sampled_from(["xz", "gz", "bz2"]))
def test_half_a_package_never_looks_like_a_whole_one(tmp_path: Path, data: st.DataObject, compression: str) -> None:
    """Wherever a package is cut off, an error says so, even in the zeros at its end; no other error escapes."""
    whole = deb(_MEMBERS, compression)
    length = data.draw(st.integers(0, len(whole) - 2))  # the last byte may be ar's padding
    path = _package(tmp_path, whole[:length])
    with pytest.raises(FetchError, match="cannot be read as an archive"):
        list(select_members(path, _every))
