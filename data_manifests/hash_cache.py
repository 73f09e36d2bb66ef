"""A cache of file hashes on disk, keyed by size and modification time, so that unchanged files are not read again."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from codec_superb.data_manifests.files import file_stamp, write_atomically

SAVE_SECONDS = 30.0
"""Seconds between two writes: the most work that a killed process loses."""


class HashCache:
    """A JSON file of hashes; an unreadable one counts as empty, since every hash can be computed again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = _load(path)
        self._used: dict[str, tuple[int, int, str]] = {}
        self._saved = time.monotonic()
        self._writing = threading.Lock()

    def get(self, key: str, path: Path, compute: Callable[[Path], str]) -> str:
        """Return the hash of ``path``, calling ``compute`` only if size or modification time have changed."""
        return self.get_stamped(key, file_stamp(path), lambda: compute(path))

    def get_stamped(self, key: str, stamp: tuple[int, int], compute: Callable[[], str]) -> str:
        """Return the hash of what has that stamp, calling ``compute`` only if it has changed."""
        *known, digest = self._known.get(key, (-1, -1, ""))
        if tuple(known) != stamp:
            digest = compute()
        self._used[key] = (*stamp, digest)
        # threads ask at once; of two that would write, an older state must not come last
        with self._writing:
            if time.monotonic() - self._saved > SAVE_SECONDS:
                self._write(self._known | dict(self._used))
                self._saved = time.monotonic()
        return digest

    def set(self, key: str, path: Path, digest: str) -> None:
        """Store a hash that was just computed."""
        self._used[key] = (*file_stamp(path), digest)

    def save(self) -> None:
        """Write the hashes that were used since the cache was opened, and drop the others.

        On a read-only file system nothing is written, and the next call computes the hashes again.
        """
        if self._used != self._known:
            self._write(self._used)

    def _write(self, hashes: dict[str, tuple[int, int, str]]) -> None:
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._path, json.dumps(hashes).encode())


def _load(path: Path) -> dict[str, tuple[int, int, str]]:
    try:
        entries = json.loads(path.read_bytes())
        return {str(key): (int(size), int(mtime), str(digest)) for key, (size, mtime, digest) in entries.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
