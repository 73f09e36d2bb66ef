"""A file that is written beside its place and then takes a name that nothing had: backups overwrite nothing."""

from __future__ import annotations

import fcntl
import os
import pwd
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import IO, TypeVar

from codec_superb.data_manifests.files import give_new_name
from codec_superb.server.errors import OperationError
from codec_superb.server.operations.private_files import PRIVATE_FILE
from codec_superb.server.storage.vault_layout import old_files

_UNFINISHED = re.compile(r"\.backup-[0-9a-f]{8}\.zip", re.IGNORECASE)
"""Names of files that are being written; others that begin so are somebody's."""
_YOUNG_S = 60.0
"""Age in seconds up to which an unfinished file may not have been locked yet."""
_T = TypeVar("_T")


def write_new(path: Path, write: Callable[[IO[bytes]], _T], *, numbered: bool) -> tuple[Path, _T]:
    """Have ``write`` fill a file that its owner alone may read, give it the name ``path``, and return its place.

    Where the name is taken by then, the file gets the next one (``-2``, ``-3``, …) if ``numbered``. What killed
    processes left in the folder goes. Raises OperationError, leaving no file, where the name is taken otherwise.
    """
    for left in old_files(path.parent, _YOUNG_S):
        if _UNFINISHED.fullmatch(left.name):
            _remove_abandoned(left)
    temporary = path.with_name(f".backup-{secrets.token_hex(4)}{path.suffix}")
    try:
        temporary.touch(PRIVATE_FILE, exist_ok=False)
        with temporary.open("r+b") as file:
            with suppress(OSError):  # a file system without locks, where nothing is found to be abandoned either
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            made = write(file)
            file.flush()
            os.fsync(file.fileno())
            return _named(temporary, path, numbered=numbered), made
    finally:
        with suppress(OSError):  # the first error is the one to show
            temporary.unlink(missing_ok=True)


def _named(temporary: Path, path: Path, *, numbered: bool) -> Path:
    for number in count(1):
        place = path if number == 1 else path.with_stem(f"{path.stem}-{number}")
        try:
            give_new_name(temporary, place)
        except FileExistsError:
            if not numbered:
                raise taken(path) from None
        else:
            return place
    raise AssertionError  # numbers do not end


def taken(path: Path) -> OperationError:
    """Return the error for a name that something has."""
    return OperationError(f"expected no file at {path}: backups are not overwritten; name another")


def _remove_abandoned(path: Path) -> None:
    """Remove a file whose process has ended: the kernel has released its lock."""
    with suppress(OSError), path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()


def unreadable(path: Path, error: OSError) -> OperationError:
    """Return the error for a submission file that cannot be read: whose it is, and who can."""
    told = f"no backup was made: expected to read {path}, got: {error.strerror or error}"
    if not isinstance(error, PermissionError):
        return OperationError(f"{told}; repair the disk, or put the file back from an older backup")
    place, owner = _owner(path)
    whose = f"{'it' if place == path else place} belongs to {owner}"
    return OperationError(
        f"{told}; {whose}: run this command as the user of the service (sudo -u {owner} …), or give that user the "
        "storage with all files (chown -R)"
    )


def _owner(path: Path) -> tuple[Path, str]:
    """Return the user of a file, or of the first folder above it that can be looked at, and which that is."""
    for place in (path, *path.parents):
        with suppress(OSError):
            user = place.stat().st_uid
            with suppress(KeyError):
                return place, pwd.getpwuid(user).pw_name
            return place, f"user {user}"  # of a container or another machine
    return path, "another user"
