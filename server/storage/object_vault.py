"""The vault of an object store (package ``obstore``), of whose files this machine keeps copies, up to a bound.

Whoever reads a file reads one of this machine. An object is written on condition that there is none of its name
(``If-None-Match: *``): its name is the hash of its content, which is compared when it comes. What is another is
replaced once its file is sent.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from codec_superb.missing_package import not_installed
from codec_superb.server.errors import FileChanged, OperationError, Unavailable
from codec_superb.server.settings import Settings
from codec_superb.server.storage.vault_layout import (
    ACCEPTED,
    ASIDE,
    IDENTITY,
    MARK,
    OWNER,
    WAITING,
    came_back,
    old_files,
)

LONGEST_S = 120.0
"""Seconds of one request."""
_IN_USE_S = 30.0
"""Seconds after which whoever was given a copy has opened it."""
_LOG = logging.getLogger(__name__)


class ObjectVault:
    """An object store, and copies on this machine; see :class:`~codec_superb.server.storage.vault.Vault`."""

    def __init__(self, settings: Settings, url: str) -> None:
        """Open the store. Raises OperationError for an address or a package that is missing."""
        self._store = _opened(url)
        self._copies, self._most, self._free = settings.files, settings.vault_copies, settings.free_bytes
        self._identity = ""

    def keep(self, path: Path, sha256: str) -> None:
        """Put it, unless it is there and whole, and keep a copy."""
        from obstore.exceptions import AlreadyExistsError

        with _answered():
            try:
                # one request, so that the condition holds for all of it
                self._store.put(_key(sha256), path, mode="create", use_multipart=False)
            except AlreadyExistsError:
                if not self._is_whole(sha256):
                    self._store.put(_key(sha256), path, use_multipart=False)
                    _LOG.warning("an object was not the file that was put there, which came again: %s", sha256)
        copy = self._copies / f"{sha256}.zip"
        path.replace(copy)
        self._make_room(copy)  # a machine that only checks fetches nothing

    def has(self, sha256: str) -> bool:
        """Ask the store, not the copies."""
        with _answered():
            try:
                self._store.head(_key(sha256))
            except FileNotFoundError:
                return self._bring_back(sha256)
        return True

    def fetch(self, sha256: str) -> Path:
        """Return the copy, which is made and compared with its hash where there is none."""
        copy = self._copies / f"{sha256}.zip"
        with suppress(FileNotFoundError):
            os.utime(copy)  # for what is dropped first; access times are often switched off
            return copy
        self._copies.mkdir(0o700, parents=True, exist_ok=True)
        if self._get(_key(sha256), copy, sha256) or (
            self._bring_back(sha256) and self._get(_key(sha256), copy, sha256)
        ):
            self._make_room(copy)
        return copy

    def names(self, older_than: float) -> Iterator[str]:
        """List the store."""
        return self._older(ACCEPTED, older_than)

    def remove(self, name: str) -> None:
        """Remove object and copy."""
        self._delete(f"{ACCEPTED}/{name}")
        (self._copies / name).unlink(missing_ok=True)

    def accept(self, sha256: str) -> None:
        """Put an empty object beside it."""
        with _answered():
            self._store.put(f"{ACCEPTED}/{sha256}{MARK}", b"", use_multipart=False)

    def accepted(self, sha256: str) -> bool:
        """Ask the store."""
        with _answered():
            try:
                self._store.head(f"{ACCEPTED}/{sha256}{MARK}")
            except FileNotFoundError:
                return False
        return True

    def set_aside(self, name: str) -> None:
        """Copy the object, then remove it."""
        with _answered():
            self._store.copy(f"{ACCEPTED}/{name}", f"{ASIDE}/{name}")
        self.remove(name)

    def leave(self, waiting: Path) -> None:
        """Put it among those that wait; the file of this machine stays, for a checker here."""
        with _answered():
            self._store.put(f"{WAITING}/{waiting.name}", waiting, use_multipart=False)

    def take(self, waiting: Path, sha256: str) -> None:
        """Get it, whole or not at all."""
        if not waiting.exists():
            self._get(f"{WAITING}/{waiting.name}", waiting, sha256)

    def forget(self, waiting: Path) -> None:
        """Remove object and file."""
        waiting.unlink(missing_ok=True)
        self._delete(f"{WAITING}/{waiting.name}")

    def waiting(self, older_than: float) -> Iterator[str]:
        """List them; an object is there once it is whole."""
        return self._older(WAITING, older_than)

    def probe(self) -> None:
        """Write an object of two bytes."""
        with _answered():
            self._store.put("ready", b"ok")

    def identity(self) -> str:
        """Return the content of an object, which the first process draws; asked for once."""
        if self._identity:
            return self._identity
        from obstore.exceptions import AlreadyExistsError

        with _answered():
            with suppress(AlreadyExistsError):
                self._store.put(IDENTITY, secrets.token_hex().encode(), mode="create", use_multipart=False)
            self._identity = bytes(self._store.get(IDENTITY).bytes()).decode("ascii")[:64]
        return self._identity

    def owner(self) -> str:
        """Read an object, each time: a restore gives the files to another database."""
        with _answered():
            try:
                return bytes(self._store.get(OWNER).bytes()).decode("ascii")[:64]
            except FileNotFoundError:
                return ""

    def bind(self, database: str) -> None:
        """Write the object."""
        with _answered():
            self._store.put(OWNER, database.encode(), use_multipart=False)

    def _bring_back(self, sha256: str) -> bool:
        """Move an object back that was set aside; False where there is none."""
        name = f"{sha256}.zip"
        with _answered():
            try:
                self._store.copy(f"{ASIDE}/{name}", _key(sha256))
            except FileNotFoundError:
                return False
        self._delete(f"{ASIDE}/{name}")
        came_back(name)
        return True

    def _get(self, key: str, target: Path, sha256: str) -> bool:
        """Bring an object into a file, whole or not at all; False where there is none. Its hash is compared."""
        part = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
        digest = hashlib.sha256()
        try:
            with _answered(), part.open("wb") as file:
                try:
                    answer = self._store.get(key)
                except FileNotFoundError:
                    return False
                for piece in answer.stream():
                    digest.update(piece)
                    file.write(piece)
            if sha256 != digest.hexdigest():
                raise FileChanged(
                    f"the object {key} in the store of submission files is not the file that was put there, by no "
                    "fault of its sender; send it again, or tell the maintainers"
                )
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
        return True

    def _is_whole(self, sha256: str) -> bool:
        digest = hashlib.sha256()
        for piece in self._store.get(_key(sha256)).stream():
            digest.update(piece)
        return digest.hexdigest() == sha256

    def _older(self, folder: str, seconds: float) -> Iterator[str]:
        before = time.time() - seconds
        with _answered():
            for page in self._store.list(f"{folder}/"):
                for entry in page:
                    if entry["last_modified"].timestamp() < before:
                        yield str(entry["path"]).rsplit("/", 1)[-1]

    def _delete(self, key: str) -> None:
        with _answered(), suppress(FileNotFoundError):
            self._store.delete(key)

    def _make_room(self, kept: Path) -> None:
        """Drop the copies that were read least recently, beyond the bound, but the one that is asked for.

        Before the disk has less free than uploads and the database need, they go too; those that somebody was given
        just now, and has perhaps not opened, once half of that is left.
        """
        copies, recent = sorted(self._sizes()), time.time() - _IN_USE_S
        total, free = sum(size for _, size, _ in copies), shutil.disk_usage(self._copies).free
        for read, size, path in copies:
            if total <= self._most and free >= (self._free / 2 if read > recent else self._free):
                return
            if path != kept:
                path.unlink(missing_ok=True)  # who has it open reads on
                total, free = total - size, free + size

    def _sizes(self) -> Iterator[tuple[float, int, Path]]:
        for path in old_files(self._copies, 0.0):
            with suppress(FileNotFoundError):  # another thread makes room
                found = path.stat()
                if not path.name.startswith(".") or found.st_mtime < time.time() - LONGEST_S:  # or it is being written
                    yield found.st_mtime, found.st_size, path


def _key(sha256: str) -> str:
    return f"{ACCEPTED}/{sha256}.zip"


def _opened(url: str) -> Any:
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError as error:
        raise OperationError(not_installed(url, "obstore", extra="s3")) from error
    limits = {
        "connect_timeout": timedelta(seconds=5),
        "read_timeout": timedelta(seconds=20),
        "timeout": timedelta(seconds=LONGEST_S),
        # an address without TLS is only ever asked where somebody named it as the endpoint
        "allow_http": True,
    }
    tries = {"max_retries": 3, "retry_timeout": timedelta(seconds=20)}
    try:
        return from_url(url, client_options=limits, retry_config=tries)  # type: ignore[call-overload]
    except (BaseError, ValueError) as error:
        raise OperationError(f"expected a vault such as s3://BUCKET/FOLDER, got {url}: {error}") from error


@contextmanager
def _answered() -> Iterator[None]:
    """Raise Unavailable where the store does not answer, refuses, or has no such bucket."""
    from obstore.exceptions import BaseError

    try:
        yield
    except (BaseError, FileNotFoundError) as error:
        # its text has addresses and answers of the store, which are not for visitors
        _LOG.warning("the store of submission files: %s: %s", type(error).__name__, str(error)[:500])
        raise Unavailable(
            "the store of submission files does not answer right now; try again in a minute",
            headers={"Retry-After": "60"},
        ) from error
