"""Detect truncated sound files from their headers; libsndfile reads them without an error.

Supported are WAV (RIFF, RIFX, RF64), AIFF, Wave64, CAF, AU and Ogg. Sizes are in bytes. A size with all bits set means
"unknown", as in a file that was written to a pipe, and is not checked.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import BinaryIO

# RFC 3533, section 6: a page has at most 65,307 bytes (27 + 255 + 255 * 255), so the last one begins in this tail
_OGG_TAIL = 1 << 16
_OGG_LAST_PAGE = 0x04  # RFC 3533, section 6: bit of header_type_flag


@dataclass(frozen=True, slots=True)
class _Chunks:
    """Chunk layout of a container format."""

    first: int
    """Position of the first chunk."""
    header: str
    """Layout of a chunk's header (name, length) as a ``struct`` format."""
    samples: bytes
    """First bytes of the name of the chunk that holds the samples."""
    align: int
    inclusive: bool = False
    """Whether the length counts the header too."""


_LAYOUTS = {
    b"RIFF": _Chunks(12, "<4sI", b"data", 2),
    # RIFF with big-endian numbers.
    b"RIFX": _Chunks(12, ">4sI", b"data", 2),
    b"RF64": _Chunks(12, "<4sI", b"data", 2),
    # AIFF.
    b"FORM": _Chunks(12, ">4sI", b"SSND", 2),
    # Core Audio Format: sizes of 64 bits.
    b"caff": _Chunks(8, ">4sQ", b"data", 1),
    # Wave64: GUIDs of 16 bytes for names, sizes that count their own header, chunks at multiples of 8 bytes.
    b"riff": _Chunks(40, "<16sQ", b"data", 8, inclusive=True),
}
_UNKNOWN = {0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF}


def missing_bytes(file: BinaryIO) -> int:
    """Return by how many bytes an open file is truncated; 0 where it is complete or the format is not supported.

    An Ogg file whose last page is not marked as the last is short by an unknown amount: 1 is returned for it.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    magic = file.read(4)
    if magic in _LAYOUTS:
        return _chunk_shortfall(file, _LAYOUTS[magic], size)
    # Sun's .au: offset and length of the data follow the magic, big-endian.
    if magic == b".snd":
        start, length = struct.unpack(">II", file.read(8).ljust(8, b"\0"))
        return 0 if length in _UNKNOWN else max(0, start + length - size)
    if magic == b"OggS":
        return _ogg_shortfall(file, size)
    return 0


def _chunk_shortfall(file: BinaryIO, layout: _Chunks, size: int) -> int:
    header = struct.calcsize(layout.header)
    position, large = layout.first, None
    while position + header <= size:
        file.seek(position)
        name, length = struct.unpack(layout.header, file.read(header))
        if name == b"ds64":  # EBU Tech 3306: RF64 keeps the 64-bit length of the data chunk here
            large = struct.unpack("<Q", file.read(16)[8:].ljust(8, b"\0"))[0]
        if name.startswith(layout.samples):
            length = large if large is not None else length
            end = position + length + (0 if layout.inclusive else header)
            return 0 if length in _UNKNOWN else max(0, end - size)
        # A size below that of its own header would never move on.
        body = max(length, header) if layout.inclusive else length + header
        position += body + -body % layout.align
    return 0


def _ogg_shortfall(file: BinaryIO, size: int) -> int:
    # RFC 3533: a page has at most 65 307 bytes (header of 27 + 255 segments of 255 bytes and their table), so the last
    # page begins within this tail; byte 5 holds the flags, byte 26 the number of segments.
    file.seek(max(0, size - _OGG_TAIL))
    tail = file.read()
    start = tail.rfind(b"OggS")
    if start < 0 or start + 27 > len(tail):
        return 1
    flags, segments = tail[start + 5], tail[start + 26]
    length = 27 + segments + sum(tail[start + 27 : start + 27 + segments])
    missing = start + length - len(tail)
    if missing > 0:
        return missing
    return 0 if flags & _OGG_LAST_PAGE else 1
