"""Names of what lies in a vault of files, and what both kinds of vault do."""

from __future__ import annotations

import logging
import time
from pathlib import Path

WAITING = "incoming"
"""In an object store: files that wait for their check."""
ACCEPTED = "submissions"
ASIDE = "quarantine"
"""Files that no row names: moved here, and back once a row does; never removed by this program."""
MARK = ".accepted"
"""End of the name of an empty file or object beside one that a submission named: such a file is never removed."""
IDENTITY = "files_id"
"""Name of the file or object that tells a folder or store from another."""
OWNER = "database_id"
"""Name of the file or object that names the database of these files."""
LOCK = "files.lock"
"""Name of the file in the storage folder that is locked while files come or go."""
_LOG = logging.getLogger(__name__)


def old_files(folder: Path, age: float) -> list[Path]:
    """List the files of a folder that were changed so many seconds ago, or earlier."""
    before = time.time() - age
    found = []
    for path in folder.iterdir():
        try:
            if path.is_file() and path.stat().st_mtime < before:
                found.append(path)
        except FileNotFoundError:  # removed by another process, or an upload has ended
            continue
    return found


def came_back(name: str) -> None:
    """Log that a file is in its place again."""
    _LOG.warning("a submission's file was in quarantine and is back: %s", name)
