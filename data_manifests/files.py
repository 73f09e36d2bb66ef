"""File helpers: hash a file, replace a file atomically, lock out other processes."""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import secrets
from collections.abc import Iterator, Mapping
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, Protocol, cast

if TYPE_CHECKING:
    from io import BufferedReader

PARTIAL = ".part-"
"""Prefix of the names of files that are still being written."""
UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
"""Decimal units of bytes, the largest first."""


class Readable(Protocol):
    """What is read as a file is: a path, or a place in a store."""

    def open(self, mode: Literal["rb"], /) -> BinaryIO:
        """Open it."""
        ...


def in_words(size: int) -> str:
    """Return bytes in decimal units, as publishers state them."""
    return next((f"{size / unit:.1f} {name}" for unit, name in UNITS if size >= unit), f"{size} bytes")


def file_sha256(path: Readable) -> str:
    """Return the SHA-256 (hex) of the file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(cast("BufferedReader", file), "sha256").hexdigest()


def file_md5(path: Path) -> str:
    """Return the MD5 (hex) of the file's bytes: what archives publish, a guard against accidents alone."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def file_stamp(path: Path) -> tuple[int, int]:
    """Return size in bytes and time of the last change in ns: a file whose stamp is the same is taken for unchanged."""
    state = path.stat()
    return state.st_size, state.st_mtime_ns


def unchanged_file_sha256(path: Path) -> str:
    """Return the file's SHA-256 (hex), computed once in a process while the file's stamp stays."""
    return _stamped_sha256(path, file_stamp(path))


@functools.cache
def _stamped_sha256(path: Path, _stamp: tuple[int, int]) -> str:
    return file_sha256(path)


def listing_sha256(hashes: Mapping[str, str]) -> str:
    """Return the SHA-256 (hex) over several files, given by name and hash: of what ``sha256sum`` lists, by name."""
    return hashlib.sha256("".join(f"{hashes[name]}  {name}\n" for name in sorted(hashes)).encode()).hexdigest()


def write_atomically(path: Path, content: bytes | memoryview, *, sync: bool = True) -> None:
    """Replace ``path`` by ``content``: another process sees the old file or the new one, never a part."""
    left = memoryview(content)
    # without a buffer, which costs more than the system calls of a small file
    with replacing(path, sync=sync) as temporary, FileIO(temporary, "w") as file:
        while left:
            left = left[file.write(left) :]


@contextlib.contextmanager
def replacing(path: Path, *, sync: bool = True) -> Iterator[Path]:
    """Yield a temporary path beside ``path``, with its suffix; the file written there replaces ``path`` on success.

    ``sync`` calls fsync before the rename, so that the content survives a power loss; without it a renamed file still
    survives the death of the process, since it is in the kernel's page cache. OSError for a device or a pipe, which
    root could replace by a file (``/dev/null``, for the whole machine).
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    temporary = path.with_name(f"{PARTIAL}{os.getpid()}-{secrets.token_hex(4)}{path.suffix}")
    try:
        yield temporary
        if sync:
            with temporary.open("rb") as written:
                os.fsync(written.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):  # on a failing disk the first error is the one to show
            temporary.unlink(missing_ok=True)
        raise


def give_new_name(temporary: Path, place: Path) -> None:
    """Give a file a name that nothing has, not even since a moment ago. Raises FileExistsError where something has it.

    ``temporary`` is left where link(2) gave the name. File systems may lack links (FAT, some network shares): there the
    file is renamed, and of two processes in the same instant the later stands.
    """
    try:
        os.link(temporary, place)
    except FileExistsError:
        raise
    except OSError as error:
        if place.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(place)) from error
        temporary.rename(place)


def remove_partial(folder: Path) -> None:
    """Delete the temporary files of killed processes below ``folder``."""
    for path in folder.rglob(f"{PARTIAL}*"):
        with contextlib.suppress(OSError):
            path.unlink()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file ``path`` while the body runs; other processes wait.

    flock(2) belongs to the open file: the kernel releases it however the process ends. Programs started with
    ``close_fds=False`` inherit the open file, and the lock is then held until the last of them has ended.
    """
    import fcntl

    path.parent.mkdir(parents=True, exist_ok=True)
    # a: made where it is absent, never emptied.
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        os.set_inheritable(file.fileno(), True)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)
