r"""Clip ids: relative POSIX paths, escaped so that they can be printed, stored and used as output paths.

A file name is a string of bytes and may contain line feeds, invalid UTF-8, or ``%``. An id is valid UTF-8 without
control characters. Other bytes are percent-encoded as ``%XX``, and ``%`` itself as ``%25``, so that the encoding is
reversible. Escaped are:

- bytes that are not valid UTF-8;
- control characters, line and paragraph separators, and Unicode's bidirectional controls;
- ``%``, and ``\ : * ? " < > |``, which Windows file systems refuse;
- a dot that begins a part (a hidden file, ``..``), and a dot or space that ends one.

A part whose escaped form is longer than 200 bytes would not fit into the name of an output file; it is cut and ends
in ``%~`` and 16 digits of its SHA-256. Such an id cannot be decoded; :func:`unescape_id` raises for it.
"""

from __future__ import annotations

import hashlib
import re

MAX_PART_BYTES = 200
"""Longest escaped part: common file systems (ext4, APFS, NTFS) allow 255, and writers add a suffix."""

# Listed explicitly: the tables of unicodedata depend on the version of Python, and ids must not.
_UNSAFE = re.compile(
    r'[\x00-\x1f\x7f-\x9f%\\:*?"<>|]'
    r"|[\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]"
    r"|[\udc80-\udcff]"
    r"|\A\.|[. ]\Z"
)
_ESCAPE = re.compile(rb"%([0-9A-F]{2})")
_SHORTENED = "%~"


def escape_path(relative: bytes) -> str:
    """Return the clip id of a relative path, given as the bytes of the file system.

    Raises ValueError for an empty or absolute path and for one with ``.`` or ``..`` as a part.
    """
    parts = relative.split(b"/")
    if any(part in {b"", b".", b".."} for part in parts):
        raise ValueError(f"expected a relative path without empty, . or .. parts, got {relative!r}")
    return "/".join(_escape_part(part) for part in parts)


def unescape_id(clip_id: str) -> bytes:
    """Return the bytes of the path that :func:`escape_path` encoded as ``clip_id``.

    Raises ValueError for a string that is not its output, and for a shortened id.
    """
    if _SHORTENED in clip_id:
        raise ValueError(f"the clip id {clip_id!r} was shortened: its path is only in the clip list")
    path = _ESCAPE.sub(lambda match: bytes.fromhex(match[1].decode()), clip_id.encode())
    if escape_path(path) != clip_id:
        raise ValueError(f"{clip_id!r} is no clip id: a character in it must be escaped, or is escaped needlessly")
    return path


def check_clip_id(clip_id: str) -> str:
    """Return ``clip_id`` when it is valid in a clip list. Raises ValueError otherwise."""
    for part in clip_id.split("/"):
        bare = part.replace("%", "")
        if not part or _UNSAFE.search(bare) or len(part.encode()) > MAX_PART_BYTES:
            raise ValueError(
                f"{clip_id!r} is no clip id: parts between / must not be empty, hold control characters or any of "
                f'\\ : * ? " < > |, begin with a dot, end with a dot or space, or be longer than {MAX_PART_BYTES} bytes'
            )
    return clip_id


def _escape_part(part: bytes) -> str:
    # PEP 383: surrogateescape maps each invalid byte to one of U+DC80 to U+DCFF, which _UNSAFE matches
    text = part.decode("utf-8", "surrogateescape")
    escaped = _UNSAFE.sub(_percent, text)
    if len(escaped.encode()) <= MAX_PART_BYTES:
        return escaped
    mark = _SHORTENED + hashlib.sha256(part).hexdigest()[:16]
    # ignore: the cut may fall into a character of several bytes.
    kept = escaped.encode()[: MAX_PART_BYTES - len(mark)].decode("utf-8", "ignore")
    # Or into an escape; and Windows drops dots and spaces at the end of a name.
    return re.sub(r"%[0-9A-F]?$|[. ]+$", "", kept) + mark


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogateescape"))
