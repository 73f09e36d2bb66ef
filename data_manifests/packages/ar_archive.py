"""Find a member of an ``ar`` archive, the outer format of a Debian package (ar(5), deb(5))."""

from __future__ import annotations

import os
from typing import BinaryIO, cast

_MAGIC = b"!<arch>\n"
_HEADER = 60
"""Bytes: name 16, time 12, owner 6, group 6, mode 8, size 10 (decimal), end 2."""
_END = b"`\n"


class ArError(Exception):
    """The file is no ``ar`` archive, ends early, or lacks the member."""


class _Part:
    """The bytes of one member, as a file that is read forwards."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._left = size

    def read(self, size: int = -1) -> bytes:
        content = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(content)
        return content


def open_member(file: BinaryIO, stem: str) -> tuple[str, BinaryIO]:
    """Return name and content of the first member called ``stem`` or ``stem.*``; ``file`` is read from its beginning.

    Only ``read`` of the content may be used, and not after ``file`` was moved. Raises ArError.
    """
    if file.read(len(_MAGIC)) != _MAGIC:
        raise ArError("it does not begin as an ar archive")
    end = file.seek(0, os.SEEK_END)
    file.seek(len(_MAGIC))
    while header := file.read(_HEADER):
        name, size = _parse(header)
        if file.tell() + size > end:  # what is cut off may be no more than the zeros at the end of a tar archive
            raise ArError(f"it ends within {name}")
        if name == stem or name.startswith(f"{stem}."):
            return name, cast("BinaryIO", _Part(file, size))
        file.seek(size + size % 2, os.SEEK_CUR)  # members begin at even offsets
    raise ArError(f"it has no member {stem}")


def _parse(header: bytes) -> tuple[str, int]:
    if len(header) != _HEADER or not header.endswith(_END):
        raise ArError("it ends within a header, or the header is damaged")
    digits = header[48:58].strip()
    if not digits.isdigit():
        raise ArError(f"expected a size in a header, got {digits!r}")
    # GNU ar ends names with a slash, dpkg-deb does not.
    return header[:16].decode("ascii", "replace").strip().removesuffix("/"), int(digits)
