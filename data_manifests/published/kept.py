"""What is noted in the folder of a download: hashes that came first, and which members lie there.

``.prepared/lock.json`` has the SHA-256 of each file that nobody publishes a hash of, and the commit of each repository
that the manifest leaves open: what came first, which later ones are compared with. ``.prepared/NAME.json`` has the
members of an archive that was unpacked, so that the archive itself may be removed.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from pydantic import ValidationError

from codec_superb.data_manifests.errors import DatasetError
from codec_superb.data_manifests.files import write_atomically
from codec_superb.data_manifests.manifest import StrictModel
from codec_superb.data_manifests.published.unpack import KEPT

LOCK = "lock.json"


class FirstSeen(StrictModel):
    """A file or repository as it came first."""

    address: str
    size: int | None = None
    """Bytes; None of a repository."""
    sha256: str = ""
    commit: str = ""
    day: str
    """ISO 8601."""


class Lock(StrictModel):
    """The content of ``lock.json``."""

    files: dict[str, FirstSeen] = {}  # noqa: RUF012 - pydantic copies it, and the model is frozen


class Members(StrictModel):
    """The files that came out of an archive or repository."""

    files: dict[str, int]
    """Bytes by path below the folder."""


def read_lock(folder: Path) -> Lock:
    """Return what came first, empty where nothing did. Raises DatasetError for a damaged file."""
    path = folder / KEPT / LOCK
    try:
        return Lock.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return Lock()
    except (ValidationError, OSError) as error:
        raise DatasetError(
            f"{path} cannot be read; it holds the hashes that downloads are compared with: restore it, or delete it to "
            "trust what comes next"
        ) from error


def add_to_lock(folder: Path, name: str, seen: FirstSeen) -> None:
    """Note what came first."""
    lock = read_lock(folder)
    _write(folder / KEPT / LOCK, Lock(files={**lock.files, name: seen}))


def note_name(name: str, *rule: object) -> str:
    """Return the name of the note about what was taken of an archive or repository by a rule."""
    digest = hashlib.sha256(json.dumps(rule).encode()).hexdigest()
    return f"{name.replace('/', '--')}-{digest[:12]}"


def is_there(folder: Path, note: str) -> bool:
    """Whether all files of a note lie in ``folder``, by size; not where there is no note that can be read."""
    try:
        noted = Members.model_validate_json((folder / KEPT / f"{note}.json").read_bytes())
    except (OSError, ValidationError):  # it is unpacked again
        return False
    return all(_has(folder / path, size) for path, size in noted.files.items())


def note_members(folder: Path, note: str, files: dict[str, int]) -> None:
    """Note which files came out of an archive or repository."""
    _write(folder / KEPT / f"{note}.json", Members(files=files))


def _has(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False


def _write(path: Path, content: StrictModel) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content.model_dump_json(indent=1).encode())
