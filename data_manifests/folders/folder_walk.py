"""List the files below a folder through symbolic links, without endless loops and in the same order everywhere."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from codec_superb.data_manifests.errors import DatasetError


def walk(root: Path) -> Iterator[Path]:
    """Yield the path, relative to ``root``, of each file below it; a dangling link counts as a file.

    Each folder is read once, however many links lead to it. Real folders come before links to folders, each in the
    order of names, so that a folder inside ``root`` is read under its own name and not under a link's.
    Raises DatasetError for a folder that cannot be read.
    """
    seen: set[tuple[int, int]] = set()
    waiting, links = [Path()], list[Path]()
    while waiting or links:
        if not waiting:
            links.sort(reverse=True)
            waiting.append(links.pop())
        relative = waiting.pop()
        for entry in _entries(root / relative, seen):
            if not _is_folder(entry):
                if _is_file(entry):
                    yield relative / entry.name
            elif entry.is_symlink():
                links.append(relative / entry.name)
            else:
                waiting.append(relative / entry.name)


def _entries(folder: Path, seen: set[tuple[int, int]]) -> list[os.DirEntry[str]]:
    """Return the entries of a folder in the order of names; none when it was read before or has been deleted."""
    try:
        status = folder.stat()
        if (status.st_dev, status.st_ino) in seen:
            return []
        seen.add((status.st_dev, status.st_ino))
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise DatasetError(
            f"cannot list the folder {folder}: {(error.strerror or str(error)).lower()}; clips in it would be skipped "
            "without notice: make it readable, or remove it"
        ) from error


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # ELOOP: a link to itself
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a regular file or a dangling link, not a pipe or device, which may block when opened."""
    try:
        return stat.S_ISREG(entry.stat().st_mode)
    except OSError:
        return entry.is_symlink()
