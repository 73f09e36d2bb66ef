"""Where accepted files lie, by name: the folder ``submissions`` of the storage, or an object store behind a URL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Protocol

from codec_superb.pipeline.output_file import write_output
from codec_superb.server.errors import Unavailable
from codec_superb.server.people.secret import make_secret
from codec_superb.server.settings import Settings
from codec_superb.server.storage.object_vault import ObjectVault
from codec_superb.server.storage.vault_layout import ASIDE, IDENTITY, MARK, OWNER, came_back, old_files


class Vault(Protocol):
    """Accepted files ``<sha256>.zip``, and files that wait for their check."""

    def keep(self, path: Path, sha256: str) -> None:
        """Make a received and synced file durable under its hash; it is gone from ``path``."""

    def has(self, sha256: str) -> bool:
        """Whether a file is there. One that was set aside is brought back."""

    def fetch(self, sha256: str) -> Path:
        """Return where it can be read on this machine; a path that does not exist where there is none.

        One that was set aside is brought back.
        """

    def names(self, older_than: float) -> Iterator[str]:
        """Yield the names of files that are older than so many seconds."""

    def remove(self, name: str) -> None:
        """Remove a file by its name."""

    def accept(self, sha256: str) -> None:
        """Remember that a submission named a file, whatever database is asked later. Raises Unavailable."""

    def accepted(self, sha256: str) -> bool:
        """Whether a submission ever named it. Raises Unavailable."""

    def set_aside(self, name: str) -> None:
        """Move a file to the quarantine by its name."""

    def leave(self, waiting: Path) -> None:
        """Let the checkers of other machines have a file that waits."""

    def take(self, waiting: Path, sha256: str) -> None:
        """Bring a file that waits to this machine, where it is not yet. Raises Unavailable for another content."""

    def forget(self, waiting: Path) -> None:
        """Remove a file that waited."""

    def waiting(self, older_than: float) -> Iterator[str]:
        """Yield the names of files that were left for other machines more than so many seconds ago."""

    def probe(self) -> None:
        """Write something. Raises Unavailable where that fails."""

    def identity(self) -> str:
        """Return what processes that see each other's uploads have in common, at most 64 characters.

        Raises Unavailable where it cannot be read or drawn.
        """

    def owner(self) -> str:
        """Return the identity of the database whose files these are; '' where none was told. Raises Unavailable."""

    def bind(self, database: str) -> None:
        """Keep the identity of the database whose files these are; '' for none. Raises Unavailable."""


class FolderVault:
    """The folder itself; several machines share it by a file system."""

    def __init__(self, settings: Settings) -> None:
        self._folder = settings.files
        self._aside, self._owner = settings.storage / ASIDE, settings.storage / OWNER

    def keep(self, path: Path, sha256: str) -> None:
        """Rename it, and sync the folder, so that the move survives a power loss."""
        # rename(2): whole or not at all; the same file twice is the same content
        path.replace(self._folder / f"{sha256}.zip")
        _sync(self._folder)

    def has(self, sha256: str) -> bool:
        """Look."""
        return self.fetch(sha256).exists()

    def fetch(self, sha256: str) -> Path:
        """Name the place."""
        path = self._folder / f"{sha256}.zip"
        if not path.exists():
            with suppress(FileNotFoundError):
                (self._aside / path.name).replace(path)
                came_back(path.name)
        return path

    def names(self, older_than: float) -> Iterator[str]:
        """List the folder."""
        return (path.name for path in old_files(self._folder, older_than))

    def remove(self, name: str) -> None:
        """Unlink it."""
        (self._folder / name).unlink(missing_ok=True)

    def accept(self, sha256: str) -> None:
        """Make an empty file beside it."""
        (self._folder / f"{sha256}{MARK}").touch(0o600)

    def accepted(self, sha256: str) -> bool:
        """Look."""
        return (self._folder / f"{sha256}{MARK}").exists()

    def set_aside(self, name: str) -> None:
        """Rename it."""
        self._aside.mkdir(0o700, exist_ok=True)
        with suppress(FileNotFoundError):  # another process has
            (self._folder / name).replace(self._aside / name)

    def leave(self, waiting: Path) -> None:
        """Leave it where it is."""

    def take(self, waiting: Path, sha256: str) -> None:
        """Leave it where it is."""

    def forget(self, waiting: Path) -> None:
        """Unlink it."""
        waiting.unlink(missing_ok=True)

    def waiting(self, older_than: float) -> Iterator[str]:  # noqa: ARG002 - none is left elsewhere
        """Yield none: files of ``incoming`` are known by their locks."""
        return iter(())

    def probe(self) -> None:
        """Nothing: the storage folder is probed anyway."""

    def identity(self) -> str:
        """Return the content of a file, which the first process draws."""
        file = self._folder.parent / IDENTITY
        try:
            if not file.exists():
                make_secret(file)
            return file.read_text("ascii", "replace").strip()[:64]
        except OSError as error:
            raise _cannot_write(error) from error

    def owner(self) -> str:
        """Read a file."""
        try:
            # of another program's or a damaged one no database has the name
            return self._owner.read_text("ascii", "replace").strip()[:64]
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise _cannot_write(error) from error

    def bind(self, database: str) -> None:
        """Write the file, whole or not at all."""
        try:
            write_output(self._owner, f"{database}\n".encode())
        except OSError as error:
            raise _cannot_write(error) from error


def _cannot_write(error: OSError) -> Unavailable:
    return Unavailable(f"the storage folder cannot be used: {error.strerror}; try again later")


@cache
def vault_of(settings: Settings) -> Vault:
    """Return the vault of a service."""
    return FolderVault(settings) if settings.vault is None else ObjectVault(settings, settings.vault)


def _sync(folder: Path) -> None:
    """Sync a folder: a rename is durable only when that is done (fsync(2))."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
