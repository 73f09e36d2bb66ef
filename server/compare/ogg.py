"""Ogg Opus files without what tells where they come from: tags and stream numbers are replaced (RFC 3533, RFC 7845)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache

_PAGE = struct.Struct("<4sBBqIIIB")
"""Capture pattern, version, flags, granule position, stream, page number, checksum, segments."""
_POLYNOMIAL = 0x04C11DB7
_MASK = 0xFFFFFFFF
_VENDOR = b"codec-superb"
_TAGS = b"OpusTags" + struct.pack("<I", len(_VENDOR)) + _VENDOR + struct.pack("<I", 0)
_WHOLE_SEGMENT = 255


def without_tags(content: bytes) -> bytes:
    """Return the same sound with empty tags, stream number 0 and nothing after the last page.

    ValueError for what is not one Ogg Opus stream whose head and tags stand on pages of their own.
    """
    pages = list(_pages(content))
    if not pages or not pages[0][2].startswith(b"OpusHead"):
        raise ValueError("expected an Ogg Opus file, which begins with OpusHead")
    sound = 1
    while sound < len(pages) and not _ends_packet(pages[sound][1]):
        sound += 1
    if sound + 1 >= len(pages) or not pages[1][2].startswith(b"OpusTags"):
        raise ValueError("expected OpusTags on the second page and sound after it")
    head = pages[0]
    tags = (_PAGE.pack(b"OggS", 0, 0, 0, 0, 0, 0, 1), bytes([len(_TAGS)]), _TAGS)
    kept = [head, tags, *pages[sound + 1 :]]
    return b"".join(_renumbered(number, *page) for number, page in enumerate(kept))


_Page = tuple[bytes, bytes, bytes]
"""Header without lacing, lacing values, body."""


def _pages(content: bytes) -> Iterator[_Page]:
    place = 0
    while place < len(content):
        header = content[place : place + _PAGE.size]
        if len(header) < _PAGE.size or not header.startswith(b"OggS"):
            raise ValueError(f"expected an Ogg page at byte {place}")
        lacing = content[place + _PAGE.size : place + _PAGE.size + header[-1]]
        start = place + _PAGE.size + len(lacing)
        place = start + sum(lacing)
        if len(lacing) < header[-1] or place > len(content):
            raise ValueError("expected a whole Ogg page, got the beginning of one")
        yield header, lacing, content[start:place]


def _ends_packet(lacing: bytes) -> bool:
    return bool(lacing) and lacing[-1] < _WHOLE_SEGMENT


def _renumbered(number: int, header: bytes, lacing: bytes, body: bytes) -> bytes:
    _, _, flags, granule, _, _, _, segments = _PAGE.unpack(header)
    fields = (b"OggS", 0, flags, granule, 0, number)
    checksum = _checksum(_PAGE.pack(*fields, 0, segments) + lacing + body)
    return _PAGE.pack(*fields, checksum, segments) + lacing + body


def _checksum(page: bytes) -> int:
    """CRC-32 as Ogg has it: not reflected, starting from zero."""
    table, value = _table(), 0
    for byte in page:
        value = ((value << 8) & _MASK) ^ table[(value >> 24) ^ byte]
    return value


@cache
def _table() -> tuple[int, ...]:
    values = []
    for byte in range(256):
        value = byte << 24
        for _ in range(8):
            value = ((value << 1) ^ _POLYNOMIAL if value & 0x80000000 else value << 1) & _MASK
        values.append(value)
    return tuple(values)
