"""The clips of a dataset that is listed part by part: sorted lists on disk, which a kill leaves, merged at the end.

A part is what is read at once: a shard, a table, some 500 files. Its clips lie in one or several short tables of
:mod:`~codec_superb.data_manifests.lists.clip_table`, each sorted by id, and a mark that is written last. Memory is that
of :data:`HELD` clips, however many there are.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from codec_superb.data_manifests.clip_list import ClipRecord
from codec_superb.data_manifests.files import write_atomically
from codec_superb.data_manifests.lists.clip_table import read_table_rows, to_record, to_row, write_table_rows

HELD = 10_000
"""Clips that are sorted in memory."""
AT_ONCE = 64
"""Tables that are merged at once, of each of which :data:`_READ` rows are in memory."""
_READ, _GROUP = 256, 4096
"""Rows that are read at once, and those of a row group: many small ones make a footer of megabytes."""


class Mark(NamedTuple):
    """What is known of a finished part."""

    tables: int
    clips: int
    note: Any
    """What its reader had to say, as JSON holds it."""


class PartLists:
    """Parts by their keys, below a folder that one process writes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def mark(self, key: str) -> Mark | None:
        """Return what is known of a part; None for one that is not finished."""
        try:
            return Mark(*json.loads((self._folder / f"{_stem(key)}.json").read_bytes()))
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def write(self, key: str, clips: Iterable[ClipRecord], note: Callable[[], Any]) -> Mark:
        """Write a part; ``note`` is asked when all clips came."""
        self._folder.mkdir(parents=True, exist_ok=True)
        tables = count = 0
        left = iter(clips)
        while held := [to_row(clip) for clip in itertools.islice(left, HELD)]:
            held.sort(key=itemgetter("id"))
            write_table_rows(self._table(key, tables), held, _GROUP)
            tables, count = tables + 1, count + len(held)
        mark = Mark(tables, count, note())
        write_atomically(self._folder / f"{_stem(key)}.json", json.dumps(mark).encode())
        return mark

    def merged(self, keys: Iterable[str]) -> Iterator[ClipRecord]:
        """Yield the clips of finished parts, sorted by id. Raises ManifestError for a damaged table."""
        marks = ((key, self.mark(key)) for key in keys)
        paths = [self._table(key, number) for key, mark in marks if mark for number in range(mark.tables)]
        self._folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".merge-", dir=self._folder) as scratch:
            for level in itertools.count():
                if len(paths) <= AT_ONCE:
                    break
                groups = [paths[place : place + AT_ONCE] for place in range(0, len(paths), AT_ONCE)]
                paths = [Path(scratch, f"{level}-{number}.parquet") for number in range(len(groups))]
                for path, group in zip(paths, groups, strict=True):
                    write_table_rows(path, _merged(group), _GROUP)
            yield from map(to_record, _merged(paths))

    def keep_only(self, keys: Iterable[str]) -> None:
        """Delete all other parts, and what killed processes left."""
        kept = {_stem(key) for key in keys}
        for path in self._folder.iterdir() if self._folder.is_dir() else ():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.stem.partition("-")[0] not in kept:
                path.unlink()

    def _table(self, key: str, number: int) -> Path:
        return self._folder / f"{_stem(key)}-{number}.parquet"


def _stem(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:32]


def _merged(paths: Sequence[Path]) -> Iterator[dict[str, Any]]:
    return heapq.merge(*(read_table_rows(path, _READ) for path in paths), key=itemgetter("id"))
