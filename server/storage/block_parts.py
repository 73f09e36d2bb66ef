"""Reads some rows of a clip block: its footer and the bytes of their row groups, which the database cuts out of it.

PostgreSQL reads 2 kB pages of a value from the first byte that is asked for; of 45 MB, a million rows, a page of rows
needs 200 kB.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, MutableMapping
from contextlib import suppress
from itertools import accumulate
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

_TAIL = 1 << 16
"""Bytes that are read first: the footer of 20,000 rows is among them."""
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


class BlockPart(NamedTuple):
    """Row groups of a block as they are stored."""

    footer: pq.FileMetaData
    groups: tuple[int, ...]
    start: int
    """Position of the first byte in the block."""
    data: bytes
    skip: int
    """Rows of the groups in front of the first one that was asked for."""

    def table(self) -> pa.Table:
        """Decode them; texts stay dictionaries, as in :func:`~codec_superb.server.storage.clip_blocks.block_table`."""
        schema = self.footer.schema.to_arrow_schema()
        texts = [field.name for field in schema if pa.types.is_string(field.type) and field.name != "clip"]
        source = pa.PythonFile(_Window(self.start, self.data), mode="r")
        with pq.ParquetFile(source, metadata=self.footer, read_dictionary=texts, pre_buffer=False) as file:
            return file.read_row_groups(self.groups, use_threads=False).slice(self.skip)


def parts_of(blocks: Iterable[StoredBlock], offset: int, limit: int, footers: Footers) -> tuple[BlockPart, ...]:
    """Read the row groups that hold some of ``limit`` rows behind the first ``offset`` of all blocks.

    ``footers`` keeps those that were read. Raises pa.ArrowInvalid for a block that has none.
    """
    parts, before = [], 0
    for block in blocks:
        first, last = max(offset - before, 0), min(offset + limit - before, block.rows)
        if first < last:
            footer = footers.get(block.key)
            if footer is None:
                footer = _footer_of(block.read, block.size())
                with suppress(ValueError):  # larger than all that is kept
                    footers[block.key] = footer
            parts.append(_part_of(footer, block.read, first, last))
        before += block.rows
    return tuple(parts)


def _footer_of(read: Read, size: int) -> pq.FileMetaData:
    tail = read(max(0, size - _TAIL), _TAIL)
    # the format's last bytes: the footer, its length in four of them, PAR1
    whole = int.from_bytes(tail[-8:-4], "little") + 8
    if len(tail) < whole <= size:
        tail = read(size - whole, whole)
    return pq.read_metadata(pa.BufferReader(tail))


def _part_of(footer: pq.FileMetaData, read: Read, first: int, last: int) -> BlockPart:
    """Read the row groups of the rows from ``first`` to before ``last``."""
    ends = list(accumulate((footer.row_group(at).num_rows for at in range(footer.num_row_groups)), initial=0))
    groups = tuple(at for at in range(footer.num_row_groups) if ends[at] < last and ends[at + 1] > first)
    chunks = [footer.row_group(at).column(place) for at in groups for place in range(footer.num_columns)]
    start = min(map(_begin, chunks))
    end = max(_begin(chunk) + chunk.total_compressed_size for chunk in chunks)
    return BlockPart(footer, groups, start, read(start, end - start), first - ends[groups[0]])


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
