"""Read the publishers' CSV, text and JSON files; every error names the file and the line."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from codec_superb.data_manifests.errors import LayoutError


def read_rows(
    path: Path, columns: tuple[str, ...], *, delimiter: str = ",", header: tuple[str, ...] = (), quoted: bool = True
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield ``(line number, row)`` of a table whose first line names its columns, where ``header`` does not.

    With ``quoted`` off, quotes are letters like others.

    Raises LayoutError when the file is missing or not text, when it lacks one of ``columns``, or when a line has more
    or fewer fields than the first.
    """
    with _opened(path) as lines:
        reader = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE)
        header = header or tuple(_next_row(reader, path) or ())
        lacking = [name for name in columns if name not in header]
        if lacking:
            raise LayoutError(f"{path} line 1: expected the columns {', '.join(columns)}, got {', '.join(header)}")
        while (row := _next_row(reader, path)) is not None:
            if not row:
                continue
            if len(row) != len(header):
                raise LayoutError(f"{path} line {reader.line_num}: expected {len(header)} fields, got {len(row)}")
            yield reader.line_num, dict(zip(header, row, strict=True))


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield ``(line number, text)`` of the lines that are not blank; raise LayoutError when there is no such file."""
    with _opened(path) as lines:
        number = 0
        while (line := _next_line(lines, path, number + 1)) is not None:
            number += 1
            if line.strip():
                yield number, line.rstrip("\r\n")


def read_json(path: Path) -> Any:
    """Return the content of a JSON file. Raises LayoutError naming the invalid line, or a repeated key."""
    with _opened(path) as text:
        try:
            return json.load(text, object_pairs_hook=lambda pairs: _object(pairs, path))
        except UnicodeDecodeError as error:
            raise LayoutError(f"{path} is no UTF-8 text: {error}") from error
        except json.JSONDecodeError as error:
            raise LayoutError(f"{path} line {error.lineno}: no JSON: {error.msg}") from error


def json_row(line: str, where: str, columns: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the object on a line of JSON. Raises LayoutError, which begins with ``where``, for anything else.

    ``columns`` are named in the error.
    """
    try:
        row = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise LayoutError(f"{where}: no JSON; download the file again") from error
    if not isinstance(row, dict):
        wanted = f" with {', '.join(columns)}" if columns else ""
        raise LayoutError(f"{where}: expected an object{wanted}, got {line[:60]!r}")
    return row


def expect_type(value: object, kind: type, path: Path, what: str) -> Any:
    """Return ``value`` if it is a ``kind``. Raises LayoutError naming the file and ``what`` otherwise."""
    if not isinstance(value, kind):
        raise LayoutError(f"{path}: expected {what} to be a {kind.__name__}, got {str(value)[:60]!r}")
    return value


def _object(pairs: list[tuple[str, Any]], path: Path) -> dict[str, Any]:
    # RFC 8259, section 4, leaves repeated names undefined; Python's json keeps the last value silently.
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise LayoutError(f"{path}: {twice!r} is given twice")
    return fields


def _opened(path: Path) -> Any:
    try:
        return path.open(encoding="utf-8-sig", newline="")
    except OSError as error:
        raise LayoutError(f"expected the publisher's file {path}: {error.strerror}") from error


def _next_row(reader: Any, path: Path) -> list[str] | None:
    try:
        row: list[str] | None = next(reader, None)
    except csv.Error as error:
        raise LayoutError(f"{path} line {reader.line_num}: {error}") from error
    except UnicodeDecodeError as error:
        raise LayoutError(f"{path} after line {reader.line_num} is no UTF-8 text: {error}") from error
    return row


def _next_line(lines: Any, path: Path, number: int) -> str | None:
    try:
        line: str | None = next(lines, None)
    except UnicodeDecodeError as error:
        raise LayoutError(f"{path} line {number} is no UTF-8 text: {error}") from error
    return line
