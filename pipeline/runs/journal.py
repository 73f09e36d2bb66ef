"""The journal of a stage: a JSON Lines file, one line per finished clip, appended by the parent process only.

A line is complete with its newline. A process that is killed while it writes leaves at most one incomplete line, which
is truncated when the journal is opened again; after a power loss everything from the first damaged line on is
truncated. Truncated clips are computed again. The index holds offsets, not rows, so that memory use stays small.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from codec_superb.data_manifests.objects.store_path import Place
from codec_superb.pipeline.errors import RunFolderError

T = TypeVar("T")


class Journal(Generic[T]):
    """An append-only file of JSON objects, each with a ``clip``; a later line of a clip adds to the earlier ones."""

    def __init__(self, path: Path, kind: type[T]) -> None:
        """Open or create the journal at ``path``, truncating an incomplete last line."""
        self._kind: TypeAdapter[T] = TypeAdapter(kind)
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        # O_APPEND and no buffer: a line is with the kernel when append returns, and survives a kill of this process
        self._file = path.open("a+b", buffering=0)
        self._offsets: dict[str, int | tuple[int, ...]] = {}
        self._end = 0
        for line in _lines(path):
            clip = _clip_of(line)
            if clip is None:
                os.truncate(path, self._end)
                break
            self._note(clip, self._end)
            self._end += len(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __contains__(self, clip: str) -> bool:
        return clip in self._offsets

    def close(self) -> None:
        """Close the file; it is unbuffered, so every line is already written."""
        self._file.close()

    def append(self, entry: T) -> None:
        """Write one line; a partly written line is truncated again.

        Raises OSError when the line could not be written.
        """
        content = self._kind.dump_python(entry)  # not as JSON, which would turn NaN into null
        # ASCII: a lone surrogate is written as an escape, and no line break of Unicode splits a line
        line = (json.dumps(content, ensure_ascii=True, allow_nan=False) + "\n").encode()
        try:
            # write(2) may write less than requested, on a disk that becomes full; the second call then raises.
            written = self._file.write(line)
            if written != len(line):
                self._file.write(line[written:])
        except OSError:
            with suppress(OSError):
                os.truncate(self.path, self._end)
            raise
        self._note(content["clip"], self._end)
        self._end += len(line)

    def entries(self, clip: str) -> Iterator[T]:
        """Yield the lines of one clip, oldest first. Raises RunFolderError for one of another kind."""
        for offset in self._places(clip):
            yield self._read(clip, offset)

    def last(self, clip: str) -> T | None:
        """Return the newest line of one clip, None when there is none; raises as :meth:`entries` does."""
        offsets = self._places(clip)
        return self._read(clip, offsets[-1]) if offsets else None

    def _read(self, clip: str, offset: int) -> T:
        try:
            return self._kind.validate_json(_read_line(self._file.fileno(), offset))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise RunFolderError(
                f"{self.path}: the line of {clip!r} is not what this version writes: {where}: {first['msg']}; "
                "call the stage again with --overwrite"
            ) from error

    def _note(self, clip: str, offset: int) -> None:
        """Add the offset of a line of ``clip`` to the index."""
        # most clips have one line; the ids are those that the dataset holds: 130 bytes a clip are left of 270
        known = self._places(clip)
        self._offsets[sys.intern(clip)] = (*known, offset) if known else offset

    def _places(self, clip: str) -> tuple[int, ...]:
        """Return the offsets of the lines of ``clip``, oldest first."""
        known = self._offsets.get(clip, ())
        return known if isinstance(known, tuple) else (known,)


def read_journal(path: Place, kind: type[T]) -> Iterator[T]:
    """Yield the complete lines of a journal, oldest first, without opening it for writing; none where there is no file.

    A line of another kind, and one that is being written, are passed over.
    """
    lines_of = TypeAdapter(kind)
    if path.is_file():
        for line in _lines(path):
            with suppress(ValidationError):
                yield lines_of.validate_json(line)


def read_new(path: Path, kind: type[T], offset: int, most: int) -> tuple[list[T], int]:
    """Return up to ``most`` complete lines from byte ``offset`` on, as :func:`read_journal` reads, and their end."""
    found: list[T] = []
    lines_of = TypeAdapter(kind)
    if not path.is_file():
        return found, offset
    with path.open("rb") as file:
        file.seek(offset)
        while len(found) < most and (line := file.readline()).endswith(b"\n"):
            offset = file.tell()
            with suppress(ValidationError):
                found.append(lines_of.validate_json(line))
    return found, offset


def _lines(path: Place) -> Iterator[bytes]:
    """Yield every line with its newline, which an incomplete last one lacks."""
    with path.open("rb") as file:
        yield from file


def _clip_of(line: bytes) -> str | None:
    """Return the clip of a line, None when the line is incomplete or damaged."""
    if not line.endswith(b"\n"):
        return None
    try:
        clip = _parsed(line)["clip"]
    except (ValueError, KeyError, TypeError):
        return None
    return clip if isinstance(clip, str) else None


def _parsed(line: bytes) -> Any:
    try:
        return from_json(line)  # a third of the time of json, which a journal of a million lines is opened with
    except ValueError:
        return json.loads(line)  # takes a lone surrogate


def _read_line(descriptor: int, offset: int) -> bytes:
    """Read the line that begins at ``offset``."""
    line = b""
    while not line.endswith(b"\n"):
        # pread(2) does not move the position at which append writes
        piece = os.pread(descriptor, 4096, offset + len(line))
        if not piece:
            break
        end = piece.find(b"\n")
        line += piece if end < 0 else piece[: end + 1]
    return line
