"""Remember the hash of files whose size and time of change are as they were, so that they are not read again."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from codec_superb.data_manifests.files import file_stamp, write_atomically


class HashCache:
    """A small file of hashes; what cannot be read of it is forgotten, since it can all be computed again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = _load(path)
        self._used: dict[str, tuple[int, int, str]] = {}

    def get(self, key: str, path: Path, compute: Callable[[Path], str]) -> str:
        """Return the hash of ``path``, by ``compute`` unless size and time of change are those of the last time."""
        stamp = file_stamp(path)
        *known, digest = self._known.get(key, (-1, -1, ""))
        if tuple(known) != stamp:
            digest = compute(path)
        self._used[key] = (*stamp, digest)
        return digest

    def set(self, key: str, path: Path, digest: str) -> None:
        """Note a hash that was just computed."""
        self._used[key] = (*file_stamp(path), digest)

    def save(self) -> None:
        """Write down the hashes that were asked for since the cache was opened; forget the others.

        Where nothing can be written (a store that many share, read-only) the next call computes them again.
        """
        if self._used != self._known:
            with suppress(OSError):
                self._path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(self._path, json.dumps(self._used).encode())


def _load(path: Path) -> dict[str, tuple[int, int, str]]:
    try:
        entries = json.loads(path.read_bytes())
        return {str(key): (int(size), int(mtime), str(digest)) for key, (size, mtime, digest) in entries.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
