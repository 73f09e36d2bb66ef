"""Unpack the members of an archive that a dataset needs, and nothing that leads anywhere else.

Plain files alone are unpacked: links and devices are left out. A name that leads out of the folder ends the unpacking,
as does an archive that unpacks to far more than its own size. A member is written elsewhere and renamed, and one that
is there with its size is left alone: after a kill the next call goes on. One process at a time unpacks into a folder.
"""

from __future__ import annotations

import lzma
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from codec_superb.data_manifests.errors import FetchError, WriteError
from codec_superb.data_manifests.manifest import Archive, is_wanted
from codec_superb.data_manifests.progress import OnProgress, ProgressUpdate
from codec_superb.data_manifests.published.split_zip import open_zip

TARS = (".tar.gz", ".tgz", ".tar", ".tar.bz2", ".tar.xz")
ARCHIVES = (*TARS, ".zip")
KEPT = ".prepared"
"""Folder, in that of the download, of what is noted about it; no member may lie in it."""
_MOST_TIMES = 50
_LEAST_LIMIT = 1 << 30
_MOST_MEMBERS = 5_000_000
"""Limits of what is unpacked: times the size of the archive, at least a gibibyte, and members of any kind."""
_CHUNK = 1 << 20
_DAMAGED = (
    zipfile.BadZipFile,
    tarfile.TarError,
    lzma.LZMAError,
    zlib.error,
    EOFError,
    RuntimeError,  # besides a password: NotImplementedError, a way to compress that is not known
)


@dataclass(slots=True)
class Unpacked:
    """What came out of an archive."""

    members: dict[str, int] = field(default_factory=dict)
    """Bytes of each file, by its path below the folder."""
    left_out: int = 0
    """Links and devices among the members that the dataset needs."""


def unpack(paths: Sequence[Path], archive: Archive, folder: Path, progress: OnProgress) -> Unpacked:
    """Unpack ``archive``, whose parts lie at ``paths``, below ``folder``; return what lies there afterwards.

    Raises FetchError for a damaged or hostile archive, WriteError where the disk is full or not to be written to.
    """
    return _Unpacking(paths, archive, folder, progress).run()


class _Unpacking:
    def __init__(self, paths: Sequence[Path], archive: Archive, folder: Path, progress: OnProgress) -> None:
        self._paths, self._archive, self._folder, self._progress = paths, archive, folder, progress
        self._size = sum(path.stat().st_size for path in paths)
        self._left = max(_MOST_TIMES * self._size, _LEAST_LIMIT)
        self._seen = 0
        self._unpacked = Unpacked()
        self._name = archive.filename

    def run(self) -> Unpacked:
        try:
            if self._name.endswith(".zip"):
                self._zip()
            else:
                self._tar()
        except _DAMAGED as error:
            raise FetchError(
                f"{self._paths[-1]} cannot be read as an archive: {error}; delete it and prepare again"
            ) from error
        if not self._unpacked.members:
            raise FetchError(
                f"{self._name} has no member that is needed ({', '.join(self._archive.members) or 'any file'}): "
                "it is another archive than the manifest describes"
            )
        return self._unpacked

    def _zip(self) -> None:
        with open_zip(self._paths) as (archive, members):
            wanted = [info for info in members if not info.is_dir() and is_wanted(info.filename, self._archive.members)]
            self._refuse_without_room(wanted)
            done = 0
            for info in wanted:
                # the upper half holds the mode of Unix (APPNOTE.TXT 4.4.15); 0 where another system wrote it
                kind = info.external_attr >> 28
                if kind not in {0, 8}:
                    self._unpacked.left_out += 1
                    continue
                self._write(info.filename, info.file_size, lambda info=info: archive.open(info))  # type: ignore[misc]
                done += info.compress_size
                self._tell(done)

    def _tar(self) -> None:
        with self._paths[0].open("rb") as file:
            for info, archive in _plain(file):
                self._count()
                name = info.name.removeprefix("./")
                if not is_wanted(name, self._archive.members):
                    continue
                if self._archive.inner and name.endswith(TARS):
                    self._inner(archive, info, PurePosixPath(name).parent)
                else:
                    self._member(archive, info, name)
                self._tell(file.tell())

    def _inner(self, archive: tarfile.TarFile, info: tarfile.TarInfo, folder: PurePosixPath) -> None:
        """Unpack what is needed of an archive within the archive, where that one would lie."""
        content = archive.extractfile(info) if info.isreg() else None
        if content is None:
            self._unpacked.left_out += 1
            return
        for member, within in _plain(content):
            self._count()
            name = member.name.removeprefix("./")
            if is_wanted(name, self._archive.inner) and not member.isdir():
                self._member(within, member, f"{folder}/{name}")

    def _member(self, archive: tarfile.TarFile, info: tarfile.TarInfo, name: str) -> None:
        if info.isreg():
            self._write(name, info.size, lambda: archive.extractfile(info))
        elif not info.isdir():
            self._unpacked.left_out += 1

    def _count(self) -> None:
        self._seen += 1
        if self._seen > _MOST_MEMBERS:
            raise FetchError(f"{self._name} has more than {_MOST_MEMBERS} members: it is not unpacked any further")

    def _tell(self, done: int) -> None:
        self._progress(ProgressUpdate("unpack", min(done, self._size), self._size, self._name, alone=True))

    def _place(self, name: str) -> PurePosixPath:
        path = PurePosixPath(self._archive.into, name)
        if name.startswith("/") or ".." in path.parts or "\\" in name or "\0" in name or KEPT in path.parts[:1]:
            raise FetchError(f"{self._name}: the name {name[:200]!r} leads out of the archive; it is not unpacked")
        return path

    def _refuse_without_room(self, wanted: Sequence[zipfile.ZipInfo]) -> None:
        self._refuse_too_much(sum(info.file_size for info in wanted))
        needed = sum(
            info.file_size for info in wanted if not self._is_there(self._place(info.filename), info.file_size)
        )
        free = shutil.disk_usage(self._folder).free
        if needed > free:
            raise FetchError(f"{self._name} unpacks to {needed} bytes, and {self._folder} has room for {free}")

    def _is_there(self, path: PurePosixPath, size: int) -> bool:
        target = self._folder / path
        return target.is_file() and target.stat().st_size == size

    def _refuse_too_much(self, size: int) -> None:
        if size > self._left:
            raise FetchError(
                f"{self._name} of {self._size} bytes unpacks to more than {_MOST_TIMES} times that: refused"
            )

    def _write(self, name: str, size: int, opened: Callable[[], IO[bytes] | None]) -> None:
        path = self._place(name)
        target = self._folder / path
        self._refuse_too_much(size)
        self._left -= size
        try:
            if not self._is_there(path, size):
                target.parent.mkdir(parents=True, exist_ok=True)
                partial = self._folder / KEPT / "member.part"  # one name: a killed process leaves no more than it
                partial.parent.mkdir(exist_ok=True)
                self._copy(opened(), partial, size)
                partial.replace(target)
        except OSError as error:
            raise WriteError(target, error) from error
        self._unpacked.members[path.as_posix()] = size

    def _copy(self, content: IO[bytes] | None, target: Path, size: int) -> None:
        assert content is not None  # of plain files there always is one
        with content, target.open("wb") as output:
            while chunk := content.read(_CHUNK):
                size -= len(chunk)
                if size < 0:
                    raise zipfile.BadZipFile("a member is longer than its header says")
                output.write(chunk)
        if size:
            raise zipfile.BadZipFile("a member is shorter than its header says")


def _plain(file: IO[bytes]) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
    # r|*: read once, in its own order; r:* would decompress again for each step back
    with tarfile.open(fileobj=file, mode="r|*") as archive:
        for info in archive:
            yield info, archive
