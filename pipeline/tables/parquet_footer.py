"""Reads the footer and page headers of a Parquet file, before Arrow opens an untrusted file.

Arrow's Python bindings end the process on some damaged footers when column metadata are asked for, and a page may use
another encoding than the footer states. So the few structures needed are read here, straight from the Thrift compact
protocol (parquet-format, ``parquet.thrift``): lists are bounded by the bytes that are there, nesting by a constant.
The service also reads in a limited process; the command line does not (decision 6 in ``docs/decisions``).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from codec_superb.pipeline.errors import ClipTableError

MAGIC = b"PAR1"
# CompressionCodec of parquet.thrift, in the order of its numbers
CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW")
# Encoding of parquet.thrift; number 1 (GROUP_VAR_INT) was never used
ENCODINGS = (
    *("PLAIN", "GROUP_VAR_INT", "PLAIN_DICTIONARY", "RLE", "BIT_PACKED", "DELTA_BINARY_PACKED"),
    *("DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "RLE_DICTIONARY", "BYTE_STREAM_SPLIT"),
)
_DEPTH = 12
_FOOTER_LIMIT = 4 << 20
"""Bytes; 200,000 rows with 40 metrics in row groups of 1024 need 2.5 MiB."""
_PAGE_HEADER_LIMIT = 1 << 12
_CHUNKS = 40_000
_PAGES = 64
"""Of one column in one row group; ours have two."""
Struct = dict[int, Any]


@dataclass(frozen=True, slots=True)
class Chunk:
    """One column of one row group."""

    column: str
    codec: str
    encodings: frozenset[str]
    """Those that the footer names and, where pages are not compressed, those of the page headers."""
    values: int


@dataclass(frozen=True, slots=True)
class Footer:
    """Column chunks and rows as the file declares them."""

    rows: int
    chunks: tuple[Chunk, ...]


def read_footer(file: BinaryIO) -> Footer:
    """Read the footer and every page header; ClipTableError when they are damaged or do not fit the file."""
    size = file.seek(0, 2)
    if size < 12:  # noqa: PLR2004 -- magic, length, magic
        raise ClipTableError(f"expected a Parquet file, got {size} bytes")
    # a file ends with the footer, its length (4 bytes, little-endian) and the magic number
    file.seek(size - 8)
    tail = file.read(8)
    (length,) = struct.unpack("<L", tail[:4])
    if tail[4:] != MAGIC or not 0 < length <= min(size - 12, _FOOTER_LIMIT):
        raise ClipTableError("expected a Parquet file, whose last bytes are the length of its footer and PAR1")
    file.seek(size - 8 - length)
    try:
        meta = _Reader(file.read(length)).struct()
        # FileMetaData: 3 num_rows, 4 row_groups; RowGroup: 1 columns, 3 num_rows
        rows, groups = int(meta[3]), meta[4]
        grouped = sum(int(group[3]) for group in groups)
        columns = [column for group in groups for column in group[1]]
        if len(columns) > _CHUNKS:
            raise ClipTableError(f"expected at most {_CHUNKS} columns over all row groups, got {len(columns)}")
        chunks = tuple(_chunk(file, column, size) for column in columns)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, struct.error) as error:
        raise ClipTableError(f"expected a Parquet file, got a damaged footer: {error!r}") from error
    if rows < 0 or grouped != rows:
        raise ClipTableError(f"expected row groups that add up to the {rows} rows of the footer")
    return Footer(rows, chunks)


def _chunk(file: BinaryIO, column: Struct, size: int) -> Chunk:
    # ColumnChunk: 3 meta_data; ColumnMetaData: 2 encodings, 3 path_in_schema, 4 codec, 5 num_values, 7
    # total_compressed_size, 9 data_page_offset, 11 dictionary_page_offset
    meta = column[3]
    first = min(meta[9], meta.get(11, meta[9]))
    end = first + meta[7]
    if not (len(MAGIC) <= first <= end <= size) or meta[5] < 0:
        raise ClipTableError("expected pages inside the file")
    codec, found = CODECS[meta[4]], {ENCODINGS[code] for code in meta[2]}
    if codec == CODECS[0]:
        found |= set(_page_encodings(file, first, end))
    return Chunk(".".join(part.decode() for part in meta[3]), codec, frozenset(found), meta[5])


def _page_encodings(file: BinaryIO, position: int, end: int) -> Iterator[str]:
    """Walk the pages of a chunk by their headers."""
    for _ in range(_PAGES):
        if position >= end:
            break
        file.seek(position)
        reader = _Reader(file.read(min(_PAGE_HEADER_LIMIT, end - position)))
        header = reader.struct()
        # PageHeader: 2 uncompressed_page_size, 3 compressed_page_size
        if header[3] < 0 or header[2] != header[3]:
            raise ClipTableError("expected pages that are as large unpacked as packed")
        position += reader.position + header[3]
        # Data page, dictionary page, data page of version 2; the encoding is field 2, in version 2 field 4.
        for place, field in ((5, 2), (7, 2), (8, 4)):
            if place in header:
                yield ENCODINGS[header[place][field]]
    if position != end:
        raise ClipTableError(f"expected at most {_PAGES} pages of a column, which fill its place exactly")


class _Reader:
    """Thrift compact protocol: structs become dictionaries from field number to value."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def struct(self, depth: int = 0) -> Struct:
        if depth > _DEPTH:
            raise ValueError("too deep")
        fields: Struct = {}
        number = 0
        while head := self._byte():
            # Thrift compact protocol: a field is a byte of delta and type; delta 0 is followed by the number itself
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            if number in fields:
                raise ValueError(f"field {number} twice")
            kind = head & 15
            # types 1 and 2 are the booleans true and false themselves
            fields[number] = kind == 1 if kind in {1, 2} else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in {4, 5, 6}:
            return self._zigzag()
        if kind == 8:  # noqa: PLR2004 -- numbers of types, as the protocol has them
            return self._take(self._varint())
        if kind == 12:  # noqa: PLR2004 -- as above
            return self.struct(depth + 1)
        if kind in {9, 10}:
            return self._list(depth)
        if kind in {1, 2, 3}:
            return self._byte()
        if kind == 7:  # noqa: PLR2004 -- as above
            return self._take(8)
        raise ValueError(f"type {kind}")

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        # a list of 15 or more elements has its length in a varint behind the first byte
        count = head >> 4 if head >> 4 != 15 else self._varint()  # noqa: PLR2004 -- as above
        if count > len(self.data) - self.position or depth > _DEPTH:
            raise ValueError("a list longer than the data")
        return [self._value(head & 15, depth + 1) for _ in range(count)]

    def _byte(self) -> int:
        self.position += 1
        return self.data[self.position - 1]

    def _take(self, count: int) -> bytes:
        if count > len(self.data) - self.position:
            raise ValueError("text longer than the data")
        self.position += count
        return self.data[self.position - count : self.position]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:  # noqa: PLR2004 -- as above
                return value
            shift += 7
            if shift > 63:  # noqa: PLR2004 -- as above
                raise ValueError("a number longer than 64 bits")

    def _zigzag(self) -> int:
        value = self._varint()
        # zigzag: 0, -1, 1, -2, … are 0, 1, 2, 3, …
        return (value >> 1) ^ -(value & 1)
