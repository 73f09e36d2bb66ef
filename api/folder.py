"""The folder of runs of a call: one that was named, or a temporary one that ends with its result.

A temporary folder is locked for as long as its process lives. One whose process was killed, as kernels of notebooks
are that do not end in time, is nobody's, and is removed by the next call that makes one.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

PREFIX = "codec_superb-temporary-"


class Folder:
    """A folder of runs; a temporary one is removed with this object, and with the process."""

    def __init__(self, out: str | Path | None) -> None:
        if out is not None:
            self.path = Path(out).expanduser()
            return
        remove_abandoned()
        self.path, lock = _made()
        weakref.finalize(self, _remove, self.path, lock)


_OPEN: dict[Path, int] = {}
"""Temporary folders of this process, and what holds their locks."""


def _made() -> tuple[Path, int]:
    """Make a temporary folder; it has its name once it is locked."""
    hidden = Path(tempfile.mkdtemp(prefix=f".{PREFIX}"))
    lock = os.open(hidden, os.O_RDONLY)
    _locked(lock)
    path = hidden.rename(hidden.with_name(hidden.name.removeprefix(".")))
    _OPEN[path] = lock
    return path, lock


def _locked(handle: int) -> bool:
    """Lock a folder; False where another process holds it. The kernel lets go of it with the process."""
    import fcntl

    try:
        # flock(2): the lock belongs to this open file; one of fcntl(2) ends when the process closes any handle of it
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove(path: Path, lock: int) -> None:
    if _OPEN.pop(path, None) is not None:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


@atexit.register  # before the workers' end, which takes longer than some kernels are given
def _remove_all() -> None:
    for path, lock in list(_OPEN.items()):
        _remove(path, lock)


def remove_abandoned() -> None:
    """Remove the temporary folders of processes that are no more."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # another user's, or just removed
            # a temporary folder is everybody's: a link of that name may lead into somebody else's files (open(2),
            # O_NOFOLLOW)
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(handle).st_uid == os.getuid() and _locked(handle):
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(handle)
