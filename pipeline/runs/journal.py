"""The journal of a stage: a JSON Lines file, one line per finished clip, appended by the parent process only.

A line is complete with its newline. A process that is killed while it writes leaves at most one incomplete line, which
is truncated when the journal is opened again; after a power loss everything from the first damaged line on is
truncated. Truncated clips are computed again. The index holds offsets, not rows, so that memory use stays small; many
rows are read a block of clips at a time, without a model for each (:meth:`Journal.contents`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from codec_superb.data_manifests.objects.store_path import Place
from codec_superb.pipeline.errors import RunFolderError
from codec_superb.pipeline.runs.line_index import LineIndex, Numbers

T = TypeVar("T")

_OPENED = 1 << 18
"""Bytes that are parsed at a time when a journal is opened."""
_GAP, _SPAN = 1 << 14, 1 << 22
"""Bytes between two lines beyond which they are read apart, and most bytes of a read."""


class Journal(Generic[T]):
    """An append-only file of JSON objects, each with a ``clip``; a later line of a clip adds to the earlier ones."""

    def __init__(self, path: Path, kind: type[T]) -> None:
        """Open or create the journal at ``path``, truncating an incomplete last line."""
        self._kind: TypeAdapter[T] = TypeAdapter(kind)
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        # O_APPEND and no buffer: a line is with the kernel when append returns, and survives a kill of this process
        self._file = path.open("a+b", buffering=0)
        self._index = LineIndex()
        self._end = 0
        for clip, length in _clips_of(path):
            if clip is None:
                os.truncate(path, self._end)
                break
            self._index.add(clip, self._end)
            self._end += length

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __bool__(self) -> bool:
        """Whether there is a line."""
        return self._end > 0

    def __contains__(self, clip: str) -> bool:
        return any(_clip_of(line) == clip for line in self._lines(clip))

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
        self._index.add(content["clip"], self._end)
        self._end += len(line)

    def append_lines(self, clips: Sequence[str], lines: Sequence[bytes]) -> None:
        """Write lines of another journal of this kind as they are, each of one of ``clips``, all in one write.

        What is killed meanwhile leaves whole lines and one that is truncated when the journal is opened again.
        """
        offset = self._end
        left = memoryview(b"".join(lines))
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            with suppress(OSError):
                os.truncate(self.path, self._end)
            raise
        for clip, line in zip(clips, lines, strict=True):
            self._index.add(clip, offset)
            offset += len(line)
        self._end = offset

    def entries(self, clip: str) -> Iterator[T]:
        """Yield the lines of one clip, oldest first. Raises RunFolderError for one of another kind."""
        for line in self._lines(clip):
            if _clip_of(line) == clip:
                yield self._validated(clip, line)

    def last(self, clip: str) -> T | None:
        """Return the newest line of one clip, None when there is none; raises as :meth:`entries` does."""
        found = [line for line in self._lines(clip) if _clip_of(line) == clip]
        return self._validated(clip, found[-1]) if found else None

    def checked(self, content: dict[str, Any]) -> T:
        """Return a content as a model. Raises RunFolderError where it is of another kind."""
        return self._validated(content["clip"], json.dumps(content).encode())

    def contents(self, clips: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield place and content of each line of ``clips``, in their order, oldest first; contents are not validated.

        This is for many clips, some thousand at a time, which are held in memory.
        """
        return ((place, content) for place, _, content in self.lines(clips))

    def lines(self, clips: Sequence[str]) -> Iterator[tuple[int, bytes, dict[str, Any]]]:
        """Yield the same with each line as it is in the file, between place and content."""
        which, offsets = self._index.places_of(clips)
        found = self._read(offsets)
        for place, line, content in zip(which.tolist(), found, _parsed_all(found), strict=True):
            if content["clip"] == clips[place]:
                yield place, line, content

    def newest(self, clips: Sequence[str]) -> list[dict[str, Any] | None]:
        """Return the content of the newest line of each of ``clips``, as :meth:`contents` has it."""
        found: list[dict[str, Any] | None] = [None] * len(clips)
        for place, content in self.contents(clips):
            found[place] = content
        return found

    def _lines(self, clip: str) -> Iterator[bytes]:
        return (_read_line(self._file.fileno(), offset) for offset in self._index.places(clip))

    def _read(self, offsets: Numbers) -> list[bytes]:
        """Return the lines at ``offsets``; those that lie together are read at once."""
        found = [b""] * len(offsets)
        order = offsets.argsort(kind="stable").tolist()
        starts = offsets.tolist()
        first = 0
        while first < len(order):
            begin = end = starts[order[first]]
            last = first
            while last < len(order) and starts[order[last]] - end < _GAP and starts[order[last]] - begin < _SPAN:
                end = starts[order[last]]
                last += 1
            piece = os.pread(self._file.fileno(), end - begin + _GAP, begin)
            for number in order[first:last]:
                start = starts[number] - begin
                stop = piece.find(b"\n", start) + 1
                found[number] = piece[start:stop] if stop else _read_line(self._file.fileno(), starts[number])
            first = last
        return found

    def _validated(self, clip: str, line: bytes) -> T:
        try:
            return self._kind.validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise RunFolderError(
                f"{self.path}: the line of {clip!r} is not what this version writes: {where}: {first['msg']}; "
                "call the stage again with --overwrite"
            ) from error


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


def _clips_of(path: Path) -> Iterator[tuple[str | None, int]]:
    """Yield the clip of each line and the line's length; None for one that is incomplete or damaged."""
    with path.open("rb") as file:
        while lines := file.readlines(_OPENED):
            try:
                clips = [content["clip"] for content in _parsed_all(lines)]
                whole = all(isinstance(clip, str) for clip in clips)
            except (ValueError, KeyError, TypeError):
                whole = False
            # which line it is, and whether it is one that only json takes
            yield from zip(clips if whole else map(_clip_of, lines), map(len, lines), strict=True)


def _parsed_all(lines: Sequence[bytes]) -> list[Any]:
    """Parse lines, of which each has its newline, at once. Raises ValueError where one is damaged."""
    if not all(line.endswith(b"\n") for line in lines[-1:]):
        raise ValueError("an incomplete line")
    try:
        contents: list[Any] = from_json(b"[" + b",".join(lines) + b"]")
    except ValueError:
        return [json.loads(line) for line in lines]  # takes a lone surrogate
    if len(contents) != len(lines):
        raise ValueError("a line that holds several objects, or none")
    return contents


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
