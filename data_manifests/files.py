"""Small things with files: hash one, write one atomically, keep other processes out."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

PARTIAL = ".part-"
"""How the name of a file begins that is not whole yet."""


def file_sha256(path: Path) -> str:
    """Return the SHA-256 (hex) of the file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
    with replacing(path, sync=sync) as temporary:
        temporary.write_bytes(content)


@contextlib.contextmanager
def replacing(path: Path, *, sync: bool = True) -> Iterator[Path]:
    """Yield a fresh path beside ``path``, with its suffix; what was written there replaces ``path`` on success.

    ``sync`` forces the content to the disk first, so that it survives a power loss; a mere kill loses nothing of what
    was renamed, since the kernel holds it.
    """
    temporary = path.with_name(f"{PARTIAL}{os.getpid()}-{secrets.token_hex(4)}{path.suffix}")
    try:
        yield temporary
        if sync:
            with temporary.open("rb") as written:
                os.fsync(written.fileno())
        temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):  # on success it is gone; a disk that refuses this too has said so already
            temporary.unlink(missing_ok=True)


def remove_partial(folder: Path) -> None:
    """Delete what a killed process left half written below ``folder``."""
    for path in folder.rglob(f"{PARTIAL}*"):
        with contextlib.suppress(OSError):
            path.unlink()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file ``path`` while the body runs; a second process waits. The system frees it on any death.

    Programs started with ``close_fds=False`` inherit the lock: it then holds until the last of them has ended.
    """
    import fcntl

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        os.set_inheritable(file.fileno(), True)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)
