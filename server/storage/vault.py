"""Where accepted files lie, by name: the folder ``submissions`` of the storage, or an object store behind a URL.

Of an object store (package ``fsspec``, ``s3://`` by ``s3fs``) this machine keeps copies in ``submissions``, up to a
bound: whoever reads a file reads one of this machine. An object is written once, on condition that there is none of its
name (``If-None-Match: *``), and never changed: its name is the hash of its content, which is compared when it comes.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from codec_superb.data_manifests.files import file_sha256
from codec_superb.server.errors import OperationError, Unavailable
from codec_superb.server.settings import Settings

_LOG = logging.getLogger(__name__)
WAITING = "incoming"
"""In an object store: files that wait for their check."""
ACCEPTED = "submissions"
_WRITING = ("put_file", "pipe_file")


class Vault(Protocol):
    """Accepted files ``<sha256>.zip``, and files that wait for their check."""

    def keep(self, path: Path, sha256: str) -> None:
        """Make a received and synced file durable under its hash; it is gone from ``path``."""

    def has(self, sha256: str) -> bool:
        """Whether a file is there."""

    def fetch(self, sha256: str) -> Path:
        """Return where it can be read on this machine; a path that does not exist where there is none."""

    def names(self, older_than: float) -> Iterator[str]:
        """Yield the names of files that are older than so many seconds."""

    def remove(self, name: str) -> None:
        """Remove a file by its name."""

    def leave(self, waiting: Path) -> None:
        """Let the checkers of other machines have a file that waits."""

    def take(self, waiting: Path) -> None:
        """Bring a file that waits to this machine, where it is not yet."""

    def forget(self, waiting: Path) -> None:
        """Remove a file that waited."""

    def probe(self) -> None:
        """Write something. Raises Unavailable where that fails."""


class FolderVault:
    """The folder itself; several machines share it by a file system."""

    def __init__(self, settings: Settings) -> None:
        self._folder = settings.files

    def keep(self, path: Path, sha256: str) -> None:
        """Rename it, and sync the folder, so that the move survives a power loss."""
        # rename(2): whole or not at all; the same file twice is the same content
        path.replace(self.fetch(sha256))
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            # a rename is durable only when its folder is synced (fsync(2))
            os.fsync(folder)
        finally:
            os.close(folder)

    def has(self, sha256: str) -> bool:
        """Look."""
        return self.fetch(sha256).exists()

    def fetch(self, sha256: str) -> Path:
        """Name the place."""
        return self._folder / f"{sha256}.zip"

    def names(self, older_than: float) -> Iterator[str]:
        """List the folder."""
        return (path.name for path in old_files(self._folder, older_than))

    def remove(self, name: str) -> None:
        """Unlink it."""
        (self._folder / name).unlink(missing_ok=True)

    def leave(self, waiting: Path) -> None:
        """Leave it where it is."""

    def take(self, waiting: Path) -> None:
        """Leave it where it is."""

    def forget(self, waiting: Path) -> None:
        """Unlink it."""
        waiting.unlink(missing_ok=True)

    def probe(self) -> None:
        """Nothing: the storage folder is probed anyway."""


class _Answering:
    """A file system whose calls raise Unavailable where the store does not answer, whatever its library raises."""

    def __init__(self, fs: Any) -> None:
        self._fs = fs

    def __getattr__(self, name: str) -> Any:
        """Return the method, guarded."""
        method = getattr(self._fs, name)

        def call(*arguments: Any, **named: Any) -> Any:
            try:
                return method(*arguments, **named)
            except Exception as error:  # botocore's have no base in common with OSError
                # what is written is never looked for: then it is the bucket that is missing
                if isinstance(error, FileExistsError if name in _WRITING else FileNotFoundError):
                    raise
                _LOG.warning("the object store does not answer to %s: %s: %s", name, type(error).__name__, error)
                raise Unavailable(
                    "the store of submission files does not answer right now; try again in a minute",
                    headers={"Retry-After": "60"},
                ) from error

        return call


class ObjectVault:
    """An object store, and copies on this machine."""

    def __init__(self, settings: Settings, url: str) -> None:
        """Open the store. Raises OperationError for an address or a package that is missing."""
        fs, root = _opened(url)
        self._fs = _Answering(fs)
        self._accepted, self._waiting = f"{root}/{ACCEPTED}", f"{root}/{WAITING}"
        self._root = root
        self._copies, self._most = settings.files, settings.vault_copies

    def keep(self, path: Path, sha256: str) -> None:
        """Put it, unless it is there, and keep a copy."""
        with suppress(FileExistsError):
            self._fs.put_file(str(path), self._key(sha256), mode="create")
        path.replace(self._copies / f"{sha256}.zip")

    def has(self, sha256: str) -> bool:
        """Ask the store, not what is remembered of it."""
        self._fs.invalidate_cache()
        return bool(self._fs.exists(self._key(sha256)))

    def fetch(self, sha256: str) -> Path:
        """Return the copy, which is made and compared with its hash where there is none."""
        copy = self._copies / f"{sha256}.zip"
        if not copy.exists():
            self._copies.mkdir(0o700, parents=True, exist_ok=True)
            part = self._copies / f".{secrets.token_hex(8)}.part"
            try:
                self._fs.get_file(self._key(sha256), str(part))
                if file_sha256(part) != sha256:
                    raise Unavailable(f"the stored object {sha256}.zip is not the file that its name says")
                part.replace(copy)
            except FileNotFoundError:
                return copy
            finally:
                part.unlink(missing_ok=True)
            self._make_room(copy)
        with suppress(FileNotFoundError):
            os.utime(copy)  # for what is dropped first; access times are often switched off
        return copy

    def names(self, older_than: float) -> Iterator[str]:
        """List the store."""
        self._fs.invalidate_cache()
        before = time.time() - older_than
        try:
            found = self._fs.find(self._accepted, detail=True)
        except FileNotFoundError:  # of a store without the bucket, which the probe tells of
            return
        for entry in found.values():
            changed = entry.get("LastModified") or entry.get("mtime")
            if changed is not None and changed.timestamp() < before:
                yield str(entry["name"]).rsplit("/", 1)[-1]

    def remove(self, name: str) -> None:
        """Remove object and copy."""
        with suppress(FileNotFoundError):
            self._fs.rm_file(f"{self._accepted}/{name}")
        (self._copies / name).unlink(missing_ok=True)

    def leave(self, waiting: Path) -> None:
        """Put it among those that wait; the file of this machine stays, for a checker here."""
        self._fs.put_file(str(waiting), f"{self._waiting}/{waiting.name}")

    def take(self, waiting: Path) -> None:
        """Get it, whole or not at all."""
        if waiting.exists():
            return
        part = waiting.with_name(f"{waiting.name}.{secrets.token_hex(4)}")
        try:
            self._fs.get_file(f"{self._waiting}/{waiting.name}", str(part))
            part.replace(waiting)
        except FileNotFoundError:
            return
        finally:
            part.unlink(missing_ok=True)

    def forget(self, waiting: Path) -> None:
        """Remove object and file."""
        waiting.unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            self._fs.rm_file(f"{self._waiting}/{waiting.name}")

    def probe(self) -> None:
        """Write an object of two bytes."""
        self._fs.pipe_file(f"{self._root}/ready", b"ok")

    def _key(self, sha256: str) -> str:
        return f"{self._accepted}/{sha256}.zip"

    def _make_room(self, kept: Path) -> None:
        """Drop the copies that were read least recently, beyond the bound, but the one that is asked for."""
        copies = sorted((path.stat().st_mtime, path.stat().st_size, path) for path in old_files(self._copies, 0.0))
        total = sum(size for _, size, _ in copies)
        for _, size, path in copies:
            if total <= self._most:
                return
            if path != kept:
                path.unlink(missing_ok=True)  # who has it open reads on
                total -= size


@cache
def vault_of(settings: Settings) -> Vault:
    """Return the vault of a service."""
    return FolderVault(settings) if settings.vault is None else ObjectVault(settings, settings.vault)


def old_files(folder: Path, age: float) -> list[Path]:
    """List the files of a folder that were changed so many seconds ago, or earlier."""
    before = time.time() - age
    found = []
    for path in folder.iterdir():
        try:
            if path.is_file() and path.stat().st_mtime < before:
                found.append(path)
        except FileNotFoundError:  # removed by another process, or an upload has ended
            continue
    return found


def _opened(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped]

        fs, root = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise OperationError(
            f"expected a vault that a package is installed for (pip install 'codec-superb[s3]' for s3://…), got {url}: "
            f"{error}"
        ) from error
    return fs, root.rstrip("/")
