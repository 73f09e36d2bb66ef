"""A file or folder of a store, with the part of :mod:`pathlib` that those need who only read."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from codec_superb.data_manifests.errors import MissingObject
from codec_superb.data_manifests.objects.object_file import AHEAD, ObjectFile
from codec_superb.data_manifests.objects.sound import StoredSound
from codec_superb.data_manifests.objects.stores import Found, store_of
from codec_superb.data_manifests.objects.urls import checked_url, is_url, local_path


class StorePath:
    """What lies at a URL; nobody asks the store before it has to answer.

    A folder that was listed knows which files lie right in it, so that all of them are of one moment.
    """

    def __init__(self, url: str, found: Found | None = None, files: Mapping[str, Found] | None = None) -> None:
        self.url = url
        self._found = found
        self._files = files
        self._missing = False

    def __str__(self) -> str:
        return self.url

    def __repr__(self) -> str:
        return f"StorePath({self.url!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorePath) and self.url == other.url

    def __hash__(self) -> int:
        return hash(self.url)

    def __truediv__(self, name: str) -> StorePath:
        found = (self._files or {}).get(name)
        inner = StorePath(f"{self.url}/{name}", found)
        inner._missing = self._files is not None and found is None and "/" not in name
        return inner

    @property
    def name(self) -> str:
        """Last part of the URL."""
        return self.url.rpartition("/")[2]

    @property
    def parent(self) -> StorePath:
        """The folder that it lies in."""
        return StorePath(self.url.rpartition("/")[0])

    def resolve(self) -> StorePath:
        """Return it: stores have no links."""
        return self

    def state(self) -> Found:
        """Return the state of the object. Raises MissingObject where there is none, StoreError."""
        if self._missing:
            raise MissingObject(f"{self.url}: there is no such object")
        if self._found is None:
            store, key = store_of(self.url)
            self._found = store.stat(key)
        return self._found

    def is_file(self) -> bool:
        """Whether it is an object."""
        if self._files is not None:
            return False
        try:
            self.state()
        except MissingObject:
            return False
        return True

    def is_dir(self) -> bool:
        """Whether it is a folder that holds anything."""
        return bool(self._files) or any(_level(self.url))

    def exists(self) -> bool:
        """Whether anything is there."""
        return self.is_file() or self.is_dir()

    def listed(self) -> tuple[StorePath, list[StorePath]]:
        """Return the folder, which then knows its files, and the folders in it. Raises StoreError."""
        files, folders = _level(self.url)
        return StorePath(self.url, files=files), [StorePath(f"{self.url}/{name}") for name in folders]

    def open(self, _mode: Literal["rb"] = "rb", /) -> BinaryIO:
        """Open an object, which is read in pieces through the cache. Raises as reading a :class:`CachedFile` does."""
        return cast("BinaryIO", io.BufferedReader(CachedFile(self.state()), 1 << 16))

    def read_bytes(self) -> bytes:
        """Return the content of an object. Raises as reading a :class:`CachedFile` does."""
        with self.open() as file:
            return file.read()


class CachedFile(ObjectFile):
    """One version of an object, read through the cache of this machine in pieces of 8 MiB.

    Reads raise ObjectError where the object has changed, is truncated or cannot be had, StoreError where the store
    gives nothing.
    """

    def __init__(self, found: Found) -> None:
        super().__init__(found)
        self._number, self._piece = -1, cast("BinaryIO", io.BytesIO())

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer, up to the end of the piece that the place is in."""
        number, start = divmod(self._place, AHEAD)
        if self._place >= self.found.size:
            return 0
        if number != self._number:
            self._piece.close()
            size = min(AHEAD, self.found.size - number * AHEAD)
            self._piece = StoredSound(self.found.url, size, self.found.version, number * AHEAD).open()
            self._number = number
        self._piece.seek(start)
        content = self._piece.read(len(memoryview(buffer).cast("B")))
        memoryview(buffer).cast("B")[: len(content)] = content
        self._place += len(content)
        return len(content)

    def close(self) -> None:
        """Close it, and the piece that is open."""
        self._piece.close()
        super().close()


Place = Path | StorePath
"""What is read: of this machine, or of a store."""


def place_of(given: str | Path) -> Place:
    """Return a path, or what a URL names. Raises DatasetError for a URL of another kind."""
    if isinstance(given, str) and is_url(given):
        url = checked_url(given)
        return local_path(url) or StorePath(url)
    return Path(given)


def readable(place: Place) -> Path | BinaryIO:
    """Return what libraries read: a path as it is, an object opened."""
    return place if isinstance(place, Path) else place.open()


def _level(url: str) -> tuple[dict[str, Found], list[str]]:
    store, key = store_of(url)
    try:
        files, folders = store.level(key)
    except MissingObject:  # of the hub; a bucket has no folders
        return {}, []
    return {found.name: found for found in files}, folders
