"""Archives of strangers: nothing is written outside, no link is made, no disk is filled."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import pytest
from support.datasets.archives import tar_gz, zipped

from codec_superb.data_manifests.errors import FetchError
from codec_superb.data_manifests.manifest import Archive
from codec_superb.data_manifests.progress import ignore_progress
from codec_superb.data_manifests.published.unpack import Unpacked, unpack


def _unpack(folder: Path, name: str, content: bytes, **rule: str) -> Unpacked:
    place = folder / "place"
    place.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    archive = Archive(url=f"https://example.org/{name}", **rule)  # type: ignore[arg-type]
    return unpack([folder / name], archive, place, ignore_progress)


def _special(kind: bytes, target: str = "", size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo()
    info.type, info.linkname, info.size = kind, target, size
    return info


@pytest.mark.parametrize(
    ("name", "into"),
    [
        ("../out.wav", ""),
        ("../out.wav", "deep"),
        ("/out.wav", "deep"),
        ("a/../../out.wav", ""),
        ("..\\out.wav", ""),
        (".prepared/lock.json", ""),
    ],
)
def test_a_name_that_leads_out_ends_it(tmp_path: Path, name: str, into: str) -> None:
    """Relative, absolute, of another system, or of this program's own notes."""
    for kind, content in (("a.tar.gz", tar_gz({"x.wav": b"x", name: b"out"})), ("a.zip", zipped({name: b"out"}))):
        with pytest.raises(FetchError, match=r"a\.(tar\.gz|zip): the name .* leads out of the archive"):
            _unpack(tmp_path, kind, content, into=into)
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} <= {"a.tar.gz", "a.zip", "x.wav"}


def test_links_and_devices_are_left_out(tmp_path: Path) -> None:
    """Neither is made, and nothing is written through one."""
    members = {
        "way": _special(tarfile.SYMTYPE, str(tmp_path)),
        "way/out.wav": b"within the folder",
        "same": _special(tarfile.LNKTYPE, "/etc/passwd"),
        "null": _special(tarfile.CHRTYPE),
        "pipe": _special(tarfile.FIFOTYPE),
        "folder": _special(tarfile.DIRTYPE),
    }
    done = _unpack(tmp_path, "a.tar.gz", tar_gz(members))
    assert (done.members, done.left_out) == ({"way/out.wav": 17}, 4)
    assert {path.name for path in (tmp_path / "place").rglob("*")} == {".prepared", "way", "out.wav"}
    info = zipfile.ZipInfo("link")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "made.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
        archive.writestr("x.wav", b"x")
    done = _unpack(tmp_path, "b.zip", (tmp_path / "made.zip").read_bytes())
    assert (done.members, done.left_out) == ({"x.wav": 1}, 1)


def test_a_bomb_is_refused_before_it_is_written(tmp_path: Path) -> None:
    """Two gibibytes in an archive of less than a kilobyte, by what their headers say."""
    with pytest.raises(FetchError, match=r"a\.tar\.gz of \d+ bytes unpacks to more than 50 times that"):
        _unpack(tmp_path, "a.tar.gz", tar_gz({"x.wav": b"x", "zeros": _special(tarfile.REGTYPE, size=2 << 30)}))
    content = bytearray(zipped({"zeros": b"0" * 100}))
    where = content.index(b"PK\x01\x02")
    content[where + 24 : where + 28] = (2 << 30).to_bytes(4, "little")
    with pytest.raises(FetchError, match=r"a\.zip of \d+ bytes unpacks to more than 50 times that"):
        _unpack(tmp_path, "a.zip", bytes(content))
    assert sum(path.stat().st_size for path in (tmp_path / "place").rglob("*") if path.is_file()) == 1


@pytest.mark.parametrize("size", [40, 200])
def test_a_member_of_another_length_than_it_says_is_damaged(tmp_path: Path, size: int) -> None:
    """Shorter or longer: nothing of it is left."""
    content = bytearray(zipped({"x.wav": bytes(range(100))}))
    where = content.index(b"PK\x01\x02")
    content[where + 24 : where + 28] = size.to_bytes(4, "little")
    with pytest.raises(FetchError, match="cannot be read as an archive"):
        _unpack(tmp_path, "a.zip", bytes(content))
    assert not (tmp_path / "place" / "x.wav").exists()


def test_a_tar_that_ends_early_is_damaged(tmp_path: Path) -> None:
    """What came before its end is left for the next call."""
    whole = tar_gz({"x.wav": b"x" * 100, "y.wav": bytes(range(256)) * 400})
    with pytest.raises(FetchError, match=r"cannot be read as an archive: .*; delete it and prepare again"):
        _unpack(tmp_path, "a.tar.gz", whole[: len(whole) // 2])
    assert set(_unpack(tmp_path, "a.tar.gz", whole).members) == {"x.wav", "y.wav"}
