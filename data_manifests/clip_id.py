r"""Clip ids: a relative POSIX path made safe to print, to store and to use as an output path.

A file name is a string of bytes and may hold line feeds, bytes that are no UTF-8, or ``%``. An id is valid
UTF-8 without control characters. What an id may not hold is written as ``%XX``, one escape a byte, and ``%``
itself as ``%25``, so that the way back is unique. Escaped are:

- bytes that are no UTF-8;
- control characters, line and paragraph separators, and the marks that turn the direction of text;
- ``%``, and ``\ : * ? " < > |``, which some file systems refuse;
- a dot that begins a part (a hidden file, ``..``), and a dot or space that ends one.

A part whose escaped form is longer than 200 bytes would not fit into the name of an output file; it keeps its
first bytes and ends in ``%~`` and 16 digits of its SHA-256. Such an id cannot be turned back, and says so.
"""

from __future__ import annotations

import hashlib
import re

MAX_PART_BYTES = 200
"""Longest escaped part: file systems take 255 bytes, and writers add a suffix."""

# Written out, never asked of unicodedata: its answer depends on the version of Python, and an id may not.
_UNSAFE = re.compile(
    r'[\x00-\x1f\x7f-\x9f%\\:*?"<>|]'
    r"|[\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]"
    r"|[\udc80-\udcff]"
    r"|\A\.|[. ]\Z"
)
_ESCAPE = re.compile(rb"%([0-9A-F]{2})")
_SHORTENED = "%~"


def escape_path(relative: bytes) -> str:
    """Return the clip id of a relative path, given as the bytes that the file system holds.

    Raises ValueError for an empty or absolute path and for one with ``.`` or ``..`` as a part.
    """
    parts = relative.split(b"/")
    if any(part in {b"", b".", b".."} for part in parts):
        raise ValueError(f"expected a relative path without empty, . or .. parts, got {relative!r}")
    return "/".join(_escape_part(part) for part in parts)


def unescape_id(clip_id: str) -> bytes:
    """Return the bytes of the path that :func:`escape_path` made ``clip_id`` of.

    Raises ValueError for what it cannot have made, and for an id that was shortened.
    """
    if _SHORTENED in clip_id:
        raise ValueError(f"the clip id {clip_id!r} was shortened: its path is only in the clip list")
    path = _ESCAPE.sub(lambda match: bytes.fromhex(match[1].decode()), clip_id.encode())
    if escape_path(path) != clip_id:
        raise ValueError(f"{clip_id!r} is no clip id: a character in it had to be escaped, or was without need")
    return path


def check_clip_id(clip_id: str) -> str:
    """Return ``clip_id`` when it can stand in a clip list; raise ValueError otherwise."""
    for part in clip_id.split("/"):
        bare = part.replace("%", "")
        if not part or _UNSAFE.search(bare) or len(part.encode()) > MAX_PART_BYTES:
            raise ValueError(
                f"{clip_id!r} is no clip id: parts between / must not be empty, hold control characters or any of "
                f'\\ : * ? " < > |, begin with a dot, end with a dot or space, or be longer than {MAX_PART_BYTES} bytes'
            )
    return clip_id


def _escape_part(part: bytes) -> str:
    # surrogateescape keeps each byte that is no UTF-8 as one lone surrogate, which _UNSAFE matches
    text = part.decode("utf-8", "surrogateescape")
    escaped = _UNSAFE.sub(_percent, text)
    if len(escaped.encode()) <= MAX_PART_BYTES:
        return escaped
    mark = _SHORTENED + hashlib.sha256(part).hexdigest()[:16]
    kept = escaped.encode()[: MAX_PART_BYTES - len(mark)].decode("utf-8", "ignore")
    return re.sub(r"%[0-9A-F]?$|[. ]+$", "", kept) + mark


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogateescape"))
