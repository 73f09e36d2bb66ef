"""Read members of an sdist, wheel or Debian package in memory: nothing is built, and nothing is unpacked to disk."""

from __future__ import annotations

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path, PurePosixPath
from typing import Literal

from codec_superb.data_manifests.errors import FetchError, ManifestError
from codec_superb.data_manifests.packages.ar_archive import ArError, open_member

MAX_MEMBER_BYTES = 256 * 2**20
"""Largest unpacked size of a member; all clips of the manifests are far smaller."""

_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError, zlib.error, ArError, EOFError, OSError)

# deb(5) allows these; data.tar.zst, which Ubuntu writes, is read by no Python before 3.14
_DATA: dict[str, Literal["r|", "r|gz", "r|xz", "r|bz2"]] = {
    "data.tar": "r|",
    "data.tar.gz": "r|gz",
    "data.tar.xz": "r|xz",
    "data.tar.bz2": "r|bz2",
}


def read_members(path: Path, names: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each wanted member, in the order in which the archive holds them.

    Raises ManifestError for a member that is missing, not a regular file, or too large, and FetchError when the file
    is not an archive of the kind that its name says.
    """
    wanted = set(names)
    for name, content in _members(path, wanted.__contains__, lambda: not wanted):
        if name in wanted:
            wanted.discard(name)
            yield name, content
    if wanted:
        raise ManifestError(f"{path.name} has no plain file {', '.join(sorted(wanted))}")


def select_members(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of every plain file whose name is ``wanted``, in the order of the archive.

    Names are those of the archive, of a Debian package without the leading ``./``. Raises ManifestError for a member
    that is too large or whose name leads out of the archive, and FetchError as :func:`read_members`.
    """
    for name, content in _members(path, wanted, lambda: False):
        if name.startswith("/") or ".." in PurePosixPath(name).parts:
            raise ManifestError(f"{path.name}: the name {name!r} leads out of the archive")
        yield name, content


def _members(path: Path, wanted: Callable[[str], bool], enough: Callable[[], bool]) -> Iterator[tuple[str, bytes]]:
    try:
        if path.suffix in {".whl", ".zip"}:
            yield from _zip_members(path, wanted)
        elif path.suffix == ".deb":
            yield from _deb_members(path, wanted, enough)
        else:
            # r|gz reads the archive once, in its own order; r:gz would decompress again for each step back.
            with tarfile.open(path, "r|gz") as archive:
                yield from _tar_members(path, archive, wanted, enough)
    except _DAMAGED as error:
        raise FetchError(f"{path} cannot be read as an archive: {error}; delete it and prepare again") from error


def _zip_members(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if wanted(info.filename) and not info.is_dir():
                _refuse_large(path, info.filename, info.file_size)
                yield info.filename, archive.read(info)


def _deb_members(path: Path, wanted: Callable[[str], bool], enough: Callable[[], bool]) -> Iterator[tuple[str, bytes]]:
    with path.open("rb") as file:
        name, part = open_member(file, "data.tar")
        if name not in _DATA:
            raise ManifestError(f"{path.name}: {name} is compressed in a way that is not read; expected xz, gz or bz2")
        with tarfile.open(fileobj=part, mode=_DATA[name]) as archive:
            yield from _tar_members(path, archive, wanted, enough)


def _tar_members(
    path: Path, archive: tarfile.TarFile, wanted: Callable[[str], bool], enough: Callable[[], bool]
) -> Iterator[tuple[str, bytes]]:
    for info in archive:
        name = info.name.removeprefix("./")  # dpkg-deb writes ./usr/...
        # isreg: a link's content would come from elsewhere. Nothing is unpacked under a name of the archive.
        if info.isreg() and wanted(name):
            _refuse_large(path, name, info.size)
            content = archive.extractfile(info)
            assert content is not None
            yield name, content.read()
        if enough():  # the rest need not be decompressed
            return


def _refuse_large(path: Path, name: str, size: int) -> None:
    if size > MAX_MEMBER_BYTES:
        raise ManifestError(f"{path.name}: {name} unpacks to {size} bytes, more than {MAX_MEMBER_BYTES}")
