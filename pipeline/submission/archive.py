"""Reads and writes the zip of a submission: written deterministically, read within limits as untrusted input."""

from __future__ import annotations

import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from codec_superb.pipeline.errors import PartsError, SubmissionError
from codec_superb.pipeline.submission.schema import (
    CLIPS_NAME,
    PAIRS_NAME,
    PART_NAME,
    SAMPLES,
    SUBMISSION_NAME,
    VECTORS_NAME,
)

FILE_LIMIT = 100_000_000
"""Bytes of the zip, unless the caller gives another limit."""
LIMITS: Mapping[str, int] = {
    SUBMISSION_NAME: 4 << 20,
    CLIPS_NAME: 256 << 20,
    PAIRS_NAME: 128 << 20,
    VECTORS_NAME: 128 << 20,
}
PART_LIMITS: Mapping[str, int] = {PART_NAME: 1 << 16, CLIPS_NAME: LIMITS[CLIPS_NAME]}
"""The same of a file that holds some of the rows."""
SAMPLE_LIMIT = 1 << 20
"""Bytes of a member, unpacked."""
RATIO_LIMIT = 200
"""Unpacked over packed size of a member above 1 MiB."""
MEMBERS = 4 + 2 * SAMPLES
_SAMPLE_NAME = re.compile(r"samples/[0-9]{2}-(reference|resynthesis)\.ogg")
# the earliest date that a zip can hold: the same runs give the same bytes
_EPOCH = (1980, 1, 1, 0, 0, 0)
# end of central directory record (APPNOTE.TXT 4.3.16): 22 bytes without a comment
_END = struct.Struct("<4s4H2LH")
# a header of the central directory has 46 bytes (APPNOTE.TXT 4.3.12), and no name here is longer than 64
_ENTRY = 46 + 64
"""Bytes of a directory entry with the longest name allowed and nothing else."""
_HEADERS = 2 * _ENTRY + 64
"""Bytes of both headers of a member at most; what other programs add (times, a descriptor) is less than 64."""
_CHUNK = 1 << 20


def write_archive(out: BinaryIO, members: Mapping[str, bytes]) -> None:
    """Write members, sorted by name and without dates, so that equal members give an equal file."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(members):
            entry = zipfile.ZipInfo(name, _EPOCH)
            # 3 is Unix; zipfile takes that of the machine otherwise, and the bytes would differ
            entry.create_system = 3
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            # Opus is compressed already, and the reader limits compression ratios.
            method = zipfile.ZIP_STORED if name.endswith(".ogg") else zipfile.ZIP_DEFLATED
            archive.writestr(entry, members[name], method, 9)


def read_archive(file: Path | BinaryIO, *, file_limit: int = FILE_LIMIT, part: bool = False) -> dict[str, bytes]:
    """Unpack a submission, or a ``part`` of one, into memory; nothing is ever written to a path that the zip names.

    Raises SubmissionError for anything that :func:`write_archive` would not have written: names outside the list,
    twice, absolute or with ``..``, links, encryption, other compression, sizes or ratios beyond the limits, damage.
    """
    if isinstance(file, Path):
        try:
            with file.open("rb") as opened:
                return read_archive(opened, file_limit=file_limit, part=part)
        except OSError as error:
            raise SubmissionError(f"cannot read {file}: {error.strerror}") from error
    # before zipfile opens it: that reads a directory of any length into memory
    _check_directory(file, file_limit)
    try:
        with zipfile.ZipFile(file) as archive:
            _check_entries(archive.infolist(), part=part)
            _check_room(archive.infolist(), file.seek(0, 2))
            return {entry.filename: _unpack(archive, entry, part=part) for entry in archive.infolist()}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, RuntimeError) as error:
        raise SubmissionError(f"expected an undamaged zip: {error}") from error


def _check_directory(file: BinaryIO, file_limit: int) -> None:
    """Check the end record before zipfile reads the central directory, which a crafted file can make huge."""
    size = file.seek(0, 2)
    if not _END.size <= size <= file_limit:
        raise SubmissionError(f"expected a zip of {_END.size} bytes to {file_limit / 1e6:g} MB, got {size} bytes")
    # 20 bytes: the Zip64 locator stands directly before the record
    file.seek(max(0, size - _END.size - 20))
    last = file.read()
    magic, _, _, here, total, length, _, comment = _END.unpack(last[-_END.size :])
    if magic != b"PK\x05\x06" or comment:
        raise SubmissionError("expected a zip that ends with its directory and has no comment")
    if last.startswith(b"PK\x06\x07"):
        raise SubmissionError("expected a plain zip, got Zip64")
    if not here == total <= MEMBERS or length > MEMBERS * _ENTRY:
        raise SubmissionError(f"expected at most {MEMBERS} members, got {total} in a directory of {length} bytes")
    file.seek(0)


def _check_entries(entries: list[zipfile.ZipInfo], *, part: bool) -> None:
    names = [entry.filename for entry in entries]
    for entry in entries:
        name, limit = entry.filename, _limit(entry.filename, part=part)
        if name == PART_NAME and not part:
            raise PartsError("one part alone: the file that describes it is named as it is, without .part-")
        if limit is None:
            known = ", ".join(PART_LIMITS if part else (*LIMITS, "samples/NN-….ogg"))
            raise SubmissionError(f"expected {known}, got {name[:80]!r}")
        if names.count(name) > 1:
            raise SubmissionError(f"expected each member once, got {name!r} {names.count(name)} times")
        # the upper half is the mode of Unix
        mode = entry.external_attr >> 16
        if mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode):
            raise SubmissionError(f"{name}: expected a regular file, got a link or a device")
        # bit 0: encrypted
        if entry.flag_bits & 0x1 or entry.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise SubmissionError(f"{name}: expected stored or deflated and not encrypted")
        if entry.file_size > limit:
            raise SubmissionError(f"{name}: expected at most {limit} bytes unpacked, got {entry.file_size}")
        if entry.file_size > _CHUNK and entry.file_size > RATIO_LIMIT * entry.compress_size:
            ratio = entry.file_size / max(entry.compress_size, 1)
            raise SubmissionError(f"{name}: expected a compression ratio of at most {RATIO_LIMIT}, got {ratio:.0f}")
    # where the rows lie in parts, the document says so
    missing = (set(PART_LIMITS) if part else {SUBMISSION_NAME}) - set(names)
    if missing:
        raise SubmissionError(f"expected the members of a submission, missing {sorted(missing)}")


def _check_room(entries: list[zipfile.ZipInfo], size: int) -> None:
    """Refuse bytes that belong to no member: the file is passed on as it came, and must not carry anything else."""
    spare = size - sum(entry.compress_size for entry in entries)
    if min(entry.header_offset for entry in entries) or spare > _END.size + _HEADERS * len(entries):
        raise SubmissionError(f"expected a zip of members and nothing else, got {spare} bytes beside them")


def _limit(name: str, *, part: bool) -> int | None:
    """Largest size of a member; None for a name that is not allowed."""
    if part:
        return PART_LIMITS.get(name)
    return SAMPLE_LIMIT if _SAMPLE_NAME.fullmatch(name) else LIMITS.get(name)


def _unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, *, part: bool) -> bytes:
    """Read a member with its limit applied to the unpacked bytes, because declared sizes may be wrong."""
    limit = _limit(entry.filename, part=part) or 0
    parts, size = [], 0
    with archive.open(entry) as member:
        # the sizes in a directory may lie: what comes out is counted
        while piece := member.read(_CHUNK):
            size += len(piece)
            if size > limit:
                raise SubmissionError(f"{entry.filename}: expected at most {limit} bytes unpacked")
            parts.append(piece)
    return b"".join(parts)
