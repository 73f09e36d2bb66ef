"""Read ArrayRecord files: the records of a Riegeli file in simple chunks, as TensorFlow Datasets writes them.

The format is that of "Riegeli/records file format" in Riegeli's repository: blocks of 64 KiB, each beginning with a
header of 24 bytes that interrupts whatever lies there; chunks of a header of 40 bytes and data. A chunk of records
(``r``) holds the sizes of its records as varints, and then the records, both compressed. Hashes in the headers are not
checked: files of a dataset are pinned by their SHA-256, or their audio is decoded.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from codec_superb.data_manifests.errors import LayoutError

_BLOCK = 1 << 16
_BLOCK_HEADER = 24
_CHUNK_HEADER = struct.Struct("<QQQcxxxxxxxQ")
"""Hash, size of the data, hash of the data, type of the chunk, number of records (seven bytes), size when decoded."""
_MAX_CHUNK = 1 << 30
"""Bytes of a chunk, packed or not; the writer's own default is 1 MiB, a single record may be longer."""
_MORE, _LONGEST = 0x80, 63
"""Bit of a varint that says that another byte follows, and the most bits that one may have."""
# compression_type of the format; 0 is none, and s (Snappy) is not read here
_CODECS = {b"z": "zstd", b"b": "brotli"}


def read_records(path: Path) -> Iterator[bytes]:
    """Yield the records of a file in their order, one chunk in memory at a time.

    The records that ArrayRecord appends as its own index come last. Raises LayoutError for a file that is damaged, cut
    off or of another kind.
    """
    try:
        with path.open("rb") as file:
            signed = False
            while header := _read(file, _CHUNK_HEADER.size):
                _, size, _, kind, decoded = _CHUNK_HEADER.unpack(header)
                data = _data(file, size) if max(size, decoded) <= _MAX_CHUNK and signed != (kind == b"s") else None
                signed = True
                if kind == b"r" or data is None:
                    yield from _records(data, decoded)
    except (ValueError, IndexError, struct.error, OSError) as error:
        raise LayoutError(f"{path} is no ArrayRecord file that can be read: {error}; download it again") from error


def _read(file: BinaryIO, size: int) -> bytes:
    """Return the next ``size`` bytes of chunks, without the block headers between them; fewer at the end."""
    parts = []
    while size:
        place = file.tell() % _BLOCK
        if place == 0:
            file.read(_BLOCK_HEADER)
            place = _BLOCK_HEADER
        part = file.read(min(size, _BLOCK - place))
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _data(file: BinaryIO, size: int) -> bytes:
    data = _read(file, size)
    if len(data) < size:
        raise ValueError("the last chunk is cut off")
    return data


def _records(data: bytes | None, decoded: int) -> Iterator[bytes]:
    if data is None:
        raise ValueError("no header of a chunk")
    codec, size_of_sizes, start = data[:1], *_varint(data, 1)
    sizes = _unpacked(codec, data[start : start + size_of_sizes], decoded)
    values = _unpacked(codec, data[start + size_of_sizes :], decoded)
    place = begin = 0
    while place < len(sizes):
        size, place = _varint(sizes, place)
        if begin + size > len(values):
            raise ValueError("a record is longer than its chunk")
        yield values[begin : begin + size]
        begin += size


def _unpacked(codec: bytes, data: bytes, most: int) -> bytes:
    if codec == b"\0":
        return data
    if codec not in _CODECS:
        raise ValueError(f"compression {codec!r} is not known")
    import pyarrow as pa

    size, start = _varint(data, 0)
    # sizes are varints of up to ten bytes for each record, and no record list is longer than that
    if size > max(10 * most, 10 * _BLOCK):
        raise ValueError("a chunk says to be longer than its header does")
    unpacked: bytes = pa.decompress(data[start:], size, codec=_CODECS[codec], asbytes=True)
    return unpacked


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """Return the unsigned LEB128 number at ``place``, and the place after it."""
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & ~_MORE) << shift
        shift += 7
        if byte < _MORE or shift > _LONGEST:
            return value, place
