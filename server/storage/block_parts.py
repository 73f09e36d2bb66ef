"""Reads some rows of a clip block: its footer and the bytes of their row groups, which the database cuts out of it.

PostgreSQL reads 2 kB pages of a value from the first byte that is asked for; of 45 MB, a million rows, a page of rows
needs 200 kB. Whoever reads a whole submission slowly holds as little of it.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from contextlib import suppress
from itertools import accumulate, chain, starmap
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

_TAIL = 1 << 16
"""Bytes that are read first: the footer of 20,000 rows is among them."""
_READ = 1_000_000
"""Bytes of row groups that are read at once, and held: SQLite walks to each position from the first byte on."""
Read = Callable[[int, int], bytes]
"""Returns so many bytes from the one at a position on, 0 being the first."""

Footers = MutableMapping[tuple[str, str], pq.FileMetaData]
"""By submission and dataset, of which no row ever changes."""


class StoredBlock(NamedTuple):
    """A block that is not read yet."""

    key: tuple[str, str]
    """Submission and dataset."""
    rows: int
    size: Callable[[], int]
    """Returns its bytes."""
    read: Read


def row_groups(
    blocks: Iterable[StoredBlock], footers: Footers, offset: int = 0, limit: int | None = None
) -> Iterator[pa.Table]:
    """Read ``limit`` rows, or all, behind the first ``offset`` of all blocks, one row group after another.

    Texts stay dictionaries, as in :func:`~codec_superb.server.storage.clip_blocks.block_table`; a block without rows
    is an empty table. Footers are read now, and kept in ``footers``; rows are when they are asked for. Raises
    pa.ArrowInvalid for a block that has no footer.
    """
    found, before = [], 0
    for block in blocks:
        end = block.rows if limit is None else min(offset + limit - before, block.rows)
        first = max(offset - before, 0)
        if first < end or not block.rows:
            footer = footers.get(block.key)
            if footer is None:
                footer = _footer_of(block.read, block.size())
                with suppress(ValueError):  # larger than all that is kept
                    footers[block.key] = footer
            found.append((footer, block.read, first, end))
        before += block.rows
    return chain.from_iterable(starmap(_tables, found))


def _tables(footer: pq.FileMetaData, read: Read, first: int, end: int) -> Iterator[pa.Table]:
    """Read the rows from ``first`` to before ``end``."""
    schema = footer.schema.to_arrow_schema()
    texts = [field.name for field in schema if pa.types.is_string(field.type) and field.name != "clip"]
    ends = list(accumulate((footer.row_group(at).num_rows for at in range(footer.num_row_groups)), initial=0))
    wanted = [at for at in range(footer.num_row_groups) if ends[at] < end and ends[at + 1] > first]
    for groups, start, stop in _together(footer, wanted):
        source = pa.PythonFile(_Window(start, read(start, stop - start)), mode="r")
        with pq.ParquetFile(source, metadata=footer, read_dictionary=texts, pre_buffer=False) as file:
            if not groups:
                yield file.read_row_groups([], use_threads=False)
            for at in groups:
                skip = max(0, first - ends[at])
                yield file.read_row_groups([at], use_threads=False).slice(skip, end - ends[at] - skip)


def _together(footer: pq.FileMetaData, wanted: Sequence[int]) -> Iterator[tuple[Sequence[int], int, int]]:
    """Yield neighbours of some bytes together, with the position of the first byte and that behind the last."""
    groups, start, stop = list[int](), 0, 0
    for at in wanted:
        chunks = [footer.row_group(at).column(place) for place in range(footer.num_columns)]
        begin = min(map(_begin, chunks))
        behind = max(_begin(chunk) + chunk.total_compressed_size for chunk in chunks)
        if groups and behind - start > _READ:
            yield groups, start, stop
            groups = []
        groups, start, stop = [*groups, at], start if groups else begin, behind
    yield groups, start, stop


def _footer_of(read: Read, size: int) -> pq.FileMetaData:
    tail = read(max(0, size - _TAIL), _TAIL)
    # the format's last bytes: the footer, its length in four of them, PAR1
    whole = int.from_bytes(tail[-8:-4], "little") + 8
    if len(tail) < whole <= size:
        tail = read(size - whole, whole)
    return pq.read_metadata(pa.BufferReader(tail))


def _begin(chunk: Any) -> int:
    # a chunk without a dictionary says 0 or nothing
    return int(min(filter(None, (chunk.dictionary_page_offset, chunk.data_page_offset))))


class _Window(io.RawIOBase):
    """A file of which only some bytes in the middle are there."""

    def __init__(self, start: int, data: bytes) -> None:
        self._start, self._data, self._at = start, data, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        end = self._start + len(self._data)
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: end}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        first = self._at - self._start
        if first < 0:
            raise OSError(f"expected a position from {self._start} on, got {self._at}")
        found = self._data[first:] if size < 0 else self._data[first : first + size]
        self._at += len(found)
        return found
