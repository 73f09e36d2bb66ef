"""What was read from stores, kept on this machine within a bound: what was used longest ago goes first.

Several processes share one folder. An entry is a whole file under the hash of its key, written beside its place and
renamed; it is read while it is open even if it goes meanwhile. A file counts the bytes, and is changed under a lock,
before a new entry appears: whatever is killed, the folder never holds more than the count says.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

from codec_superb.data_manifests.errors import DatasetError
from codec_superb.data_manifests.files import PARTIAL, UNITS, locked, remove_partial, write_atomically
from codec_superb.data_manifests.home import codec_superb_home

BOUND_VARIABLE = "CODEC_SUPERB_CACHE_SIZE"
DEFAULT_BOUND = 20 * 10**9
"""Bytes."""
_KEPT = 0.9
"""Of the bound, after entries had to go: so that not every new one looks through all."""
_LOCKS = 64
"""Files that processes wait at for each other when they want the same entry."""


def store_cache() -> ObjectCache:
    """Return the cache of this machine: ``objects`` below the home folder, with the bound of the environment."""
    return ObjectCache(codec_superb_home() / "objects", bound_of(os.environ.get(BOUND_VARIABLE, "")))


@cache
def bound_of(text: str) -> int:
    """Return a number of bytes, such as ``500MB`` or ``20 GB``; the default for ''. Raises DatasetError."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kMG]?)B?\s*", text)
    if text.strip() and match is None:
        raise DatasetError(f"{BOUND_VARIABLE}: expected a size such as 500MB or 20GB, got {text!r}")
    units = {name[:-1]: size for size, name in UNITS}
    return round(float(match[1]) * units.get(match[2], 1)) if match else DEFAULT_BOUND


class ObjectCache:
    """Entries by key, at most ``bound`` bytes of them."""

    def __init__(self, folder: Path, bound: int) -> None:
        self.folder, self.bound = folder, bound

    def open(self, key: str) -> BinaryIO | None:
        """Return an entry, which counts as used now; None where there is none."""
        try:
            file = self._path(key).open("rb")
        except FileNotFoundError:
            return None
        with suppress(OSError):  # a folder that may only be read
            os.utime(file.fileno())
        return file

    def put(self, key: str, content: bytes) -> None:
        """Keep an entry, where it fits and can be written; what stands in the way of that is no error."""
        path = self._path(key)
        if len(content) > self.bound:
            return
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with locked(self.folder / ".lock"):
                if path.exists():
                    return
                self._count(self._room_for(len(content)) + len(content))
                write_atomically(path, content)

    @contextmanager
    def alone(self, key: str) -> Iterator[None]:
        """Hold other processes that want the same entry, so that one reads it and the others find it."""
        number = int(self._path(key).name[:8], 16) % _LOCKS
        with ExitStack() as held:
            with suppress(OSError):  # a folder that may only be read: each reads for itself
                held.enter_context(locked(self.folder / "locks" / str(number)))
            yield

    def size(self) -> int:
        """Return the bytes that are there, by looking."""
        return sum(size for _, size, _ in self._entries())

    def _path(self, key: str) -> Path:
        name = hashlib.sha256(key.encode()).hexdigest()
        return self.folder / name[:2] / name

    def _room_for(self, wanted: int) -> int:
        """Delete what was used longest ago until there is room; return the bytes that are left."""
        try:
            there = int((self.folder / "bytes").read_bytes())
        except (OSError, ValueError):
            there = self.size()
        if there + wanted <= self.bound:
            return there
        remove_partial(self.folder)
        entries = sorted(self._entries())
        there = sum(size for _, size, _ in entries)
        room = min(round(self.bound * _KEPT), self.bound - wanted)
        for _, size, path in entries:
            if there <= room:
                break
            path.unlink(missing_ok=True)
            there -= size
        return there

    def _count(self, size: int) -> None:
        write_atomically(self.folder / "bytes", str(size).encode(), sync=False)

    def _entries(self) -> Iterator[tuple[int, int, Path]]:
        """Yield time of the last use, bytes and path of each entry."""
        for path in self.folder.glob("[0-9a-f][0-9a-f]/*"):
            with suppress(FileNotFoundError):
                if not path.name.startswith(PARTIAL):
                    state = path.stat()
                    yield state.st_mtime_ns, state.st_size, path
