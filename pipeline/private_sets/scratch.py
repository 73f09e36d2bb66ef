"""A folder for the sound and the tables of a private run: for this user alone, and removed however the process ends."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from codec_superb.data_manifests.files import locked

_LOCK = ".lock"


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """Yield a new folder of mode 0700 below ``parent``; temporary files of this process and its workers go there too.

    It is removed when the body ends. What a killed process left is removed first: each process holds a lock of its
    folder, which the kernel releases with it.
    """
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    parent.chmod(0o700)
    with locked(parent / _LOCK):
        _remove_unlocked(parent)
        folder = Path(tempfile.mkdtemp(prefix="run-", dir=parent))
        held = _hold(folder)
    assert held is not None  # nobody else knew its name
    try:
        with temporary_files_in(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def remove_leftovers(parent: Path) -> int:
    """Remove the folders of killed processes, as a worker does when it starts; return how many."""
    if not parent.is_dir():
        return 0
    with locked(parent / _LOCK):
        return _remove_unlocked(parent)


def _remove_unlocked(parent: Path) -> int:
    removed = 0
    for folder in parent.glob("run-*"):
        held = _hold(folder)
        if held is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(held)
            removed += 1
    return removed


def _hold(folder: Path) -> int | None:
    """Lock a folder and return its open file; None where another process holds it."""
    # Python's files are closed in programs that are started: no child keeps the lock
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(opened)
        return None
    return opened


@contextmanager
def temporary_files_in(folder: Path) -> Iterator[None]:
    """Have ``tempfile``, and programs that codecs start, use ``folder``: they write sound to such files."""
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"], tempfile.tempdir = str(folder), None
    try:
        yield
    finally:
        tempfile.tempdir = None
        if before is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before
