"""The zip: the same bytes every time, and nothing hostile gets through."""

from __future__ import annotations

import io
import os
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from codec_superb.pipeline.errors import SubmissionError
from codec_superb.pipeline.submission import archive
from codec_superb.pipeline.submission.archive import read_archive, write_archive

GOOD = {"submission.json": b"{}", "clips.parquet": b"PAR1" * 10, "samples/00-reference.ogg": b"OggS"}


def written(members: dict[str, bytes] | None = None) -> bytes:
    """Write members into memory."""
    out = io.BytesIO()
    write_archive(out, GOOD if members is None else members)
    return out.getvalue()


def zipped(
    *entries: tuple[zipfile.ZipInfo | str, bytes], comment: bytes = b"", method: int = zipfile.ZIP_DEFLATED
) -> bytes:
    """Write any zip."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, data in entries:
            file.writestr(name, data, method)
        file.comment = comment
    return out.getvalue()


BASE = [("submission.json", b"{}"), ("clips.parquet", b"PAR1")]


def link() -> bytes:
    """Put a symbolic link in the place of the rows."""
    entry = zipfile.ZipInfo("clips.parquet")
    entry.create_system = 3
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return zipped(BASE[0], (entry, b"/etc/passwd"))


def twice() -> bytes:
    """Write a member that two readers would read differently."""
    with pytest.warns(UserWarning, match="Duplicate name"):
        return zipped(*BASE, ("submission.json", b"[]"))


def encrypted() -> bytes:
    """Set the flag for encryption in both headers."""
    data = bytearray(zipped(*BASE))
    data[6] |= 1
    directory = data.index(b"PK\x01\x02")
    data[directory + 8] |= 1
    return bytes(data)


def lying_size() -> bytes:
    """Make a member that declares 2 bytes and holds more."""
    data = bytearray(zipped(("submission.json", b"x" * 5000), BASE[1]))
    directory = data.index(b"PK\x01\x02")
    struct.pack_into("<L", data, directory + 24, 2)
    struct.pack_into("<L", data, 22, 2)
    return bytes(data)


def many_entries() -> bytes:
    """Make a directory that declares few members and lists thousands."""
    data = bytearray(zipped(*BASE, *((f"samples/{n:05}", b"") for n in range(3000))))
    struct.pack_into("<HH", data, len(data) - 14, 2, 2)
    return bytes(data)


def gap() -> bytes:
    """Leave room for a film between two members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, data in BASE:
            file.writestr(name, data)
            out.seek(0, 2)
            file.start_dir = out.seek(file.start_dir + 5000)
    return out.getvalue()


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "absolute": (lambda: zipped(*BASE, ("/etc/cron.d/x", b"")), "/etc/cron.d/x"),
    "parent": (lambda: zipped(*BASE, ("../../x", b"")), r"\.\./"),
    "parent inside": (lambda: zipped(*BASE, ("samples/../x.ogg", b"")), r"\.\."),
    "backslash": (lambda: zipped(*BASE, ("samples\\00-reference.ogg", b"")), "samples"),
    "folder": (lambda: zipped(*BASE, ("samples/", b"")), "samples/"),
    "nested zip": (lambda: zipped(*BASE, ("inner.zip", zipped(*BASE))), "inner.zip"),
    "unknown": (lambda: zipped(*BASE, ("run.sh", b"")), "run.sh"),
    "control characters": (lambda: zipped(*BASE, ("a\nb", b"")), "expected submission.json"),
    "link": (link, "regular file"),
    "twice": (twice, "each member once"),
    "encrypted": (encrypted, "encrypted"),
    "other compression": (lambda: zipped(*BASE, method=zipfile.ZIP_LZMA), "stored or deflated"),
    "too big": (lambda: zipped(("submission.json", b"x" * (5 << 20)), BASE[1]), "at most 4194304 bytes"),
    "bomb": (lambda: zipped(BASE[0], ("clips.parquet", bytes(64 << 20))), "compression ratio"),
    "lying size": (lying_size, "undamaged|at most"),
    "too many": (lambda: zipped(*BASE, *((f"samples/{n:05}", b"") for n in range(90))), "members"),
    "many behind a small count": (many_entries, "members"),
    "comment": (lambda: zipped(*BASE, comment=b"hello"), "no comment"),
    "trailing bytes": (lambda: zipped(*BASE) + b"x", "no comment"),
    "leading bytes": (lambda: b"#!/bin/sh" + zipped(*BASE), "nothing else"),
    "bytes between members": (gap, "nothing else"),
    "missing document": (lambda: zipped(BASE[1]), "missing"),
    "empty": (lambda: b"", "0 bytes"),
    "no zip": (lambda: os.urandom(500), "ends with its directory"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_zip_is_refused(name: str) -> None:
    """Each is refused with its reason before anything of it is used."""
    make, message = HOSTILE[name]
    with pytest.raises(SubmissionError, match=message):
        read_archive(io.BytesIO(make()))


def test_zip64_is_refused() -> None:
    """Its second end record can hide another directory than the one that was looked at."""
    data = bytearray(written())
    data[-22:-22] = b"PK\x06\x07" + bytes(16)
    with pytest.raises(SubmissionError, match="Zip64"):
        read_archive(io.BytesIO(bytes(data)))


def test_the_size_of_the_file_is_limited(tmp_path: Path) -> None:
    """A sparse file beyond the limit is not read."""
    path = tmp_path / "big.zip"
    with path.open("wb") as file:
        file.truncate(archive.FILE_LIMIT + 1)
    with pytest.raises(SubmissionError, match="to 100 MB, got 100000001"):
        read_archive(path)


def test_members_come_back_and_order_does_not_matter() -> None:
    """The same members in any order are the same file, without a date or a name of this machine."""
    data = written()
    assert read_archive(io.BytesIO(data)) == GOOD
    assert written(dict(reversed(GOOD.items()))) == data
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        assert {entry.date_time for entry in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert file.namelist() == sorted(GOOD)


def test_every_single_damaged_byte_is_found_or_harmless() -> None:
    """Flip each byte of a small file: either an error, or the same members."""
    data = written()
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 0x5A
        try:
            found = read_archive(io.BytesIO(bytes(damaged)))
        except SubmissionError:
            continue
        assert found == GOOD, f"byte {position}"


def test_every_truncation_is_found() -> None:
    """A download that broke off is an error."""
    data = written()
    for length in range(len(data)):
        with pytest.raises(SubmissionError):
            read_archive(io.BytesIO(data[:length]))


def test_members_are_plain_files_that_all_may_read() -> None:
    """Unpacked on Unix they are regular files of mode 644, dated 1980, whatever machine packed them."""
    out = io.BytesIO()
    write_archive(out, {"submission.json": b"{}", "clips.parquet": b"x"})
    with zipfile.ZipFile(out) as archive:
        assert {(e.create_system, e.external_attr >> 16, e.date_time[0]) for e in archive.infolist()} == {
            (3, 0o100644, 1980)
        }
