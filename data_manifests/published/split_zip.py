"""Split zip files, ``name.z01``, ``name.z02``, …, ``name.zip``: read as one, without joining them on disk.

Of such a zip the standard library reads the directory, which lies in the last part, and takes all positions to be those
in one file. Positions count from the beginning of the part that a member begins in (APPNOTE.TXT 4.4.16): they are put
right here. A directory that itself begins in an earlier part is refused.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import accumulate
from pathlib import Path

_BUFFER = 1 << 20


class _Joined(io.RawIOBase):
    """Several files, read as one."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._stack = ExitStack()
        self._files = [self._stack.enter_context(path.open("rb")) for path in paths]
        self.starts = [0, *accumulate(path.stat().st_size for path in paths)]
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.starts[-1]}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # what BufferedReader gives
        part = next((i for i, end in enumerate(self.starts[1:]) if self._at < end), None)
        if part is None:
            return 0
        self._files[part].seek(self._at - self.starts[part])
        content = self._files[part].read(len(buffer))
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)

    def close(self) -> None:
        self._stack.close()
        super().close()


@contextmanager
def open_zip(paths: Sequence[Path]) -> Iterator[tuple[zipfile.ZipFile, list[zipfile.ZipInfo]]]:
    """Open a zip file, or all parts of a split one in their order; yield it and its members.

    Raises zipfile.BadZipFile where the parts do not make one.
    """
    if len(paths) == 1:
        with zipfile.ZipFile(paths[0]) as archive:
            yield archive, archive.infolist()
        return
    with _Joined(paths) as joined, _split(joined, paths[-1].name) as archive:
        # the directory's own position counts from the last part: the library takes what lies before for foreign bytes
        shift = joined.starts[-2]
        yield archive, [_placed(info, joined.starts, shift) for info in archive.infolist()]


def _split(joined: _Joined, name: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BufferedReader(joined, _BUFFER))
    except zipfile.BadZipFile as error:
        whole = f"where Info-ZIP reads it, `zip -s 0 {name} --out whole.zip` joins its parts"
        raise zipfile.BadZipFile(f"{error} ({whole})") from error


def _placed(info: zipfile.ZipInfo, starts: Sequence[int], shift: int) -> zipfile.ZipInfo:
    """Return a member at its true position; a new record, since the library judges overlaps by its own positions."""
    if not 0 <= info.volume < len(starts) - 1:
        raise zipfile.BadZipFile(f"{info.filename!r} lies in part {info.volume + 1} of {len(starts) - 1}")
    placed = zipfile.ZipInfo(info.orig_filename, info.date_time)
    placed.filename = info.filename
    for name in ("compress_type", "flag_bits", "CRC", "compress_size", "file_size", "external_attr"):
        setattr(placed, name, getattr(info, name))
    placed.header_offset = starts[info.volume] + info.header_offset - shift
    return placed
