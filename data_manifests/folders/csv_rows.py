"""Read a CSV file of the user's strictly: named columns, UTF-8, as many cells in every line."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from codec_superb.data_manifests.errors import ManifestError


def read_rows(path: Path, needed: Sequence[str] = ("path",)) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number of each line and its cells by column; empty lines are passed over.

    The first line names the columns, ``needed`` among them. Raises ManifestError naming line and column.
    """
    try:
        # utf-8-sig: spreadsheet programs write a byte order mark; newline="" is what the csv module asks for.
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = [name.strip() for name in next(reader, [])]
            _check_header(header, path, needed)
            for cells in reader:
                if cells:
                    _check_width(cells, header, path, reader.line_num)
                    yield reader.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise ManifestError(f"{path} line {reader.line_num}: no CSV: {error}") from error
    except UnicodeDecodeError as error:
        raise ManifestError(f"{path}: expected UTF-8, got byte {error.object[error.start]:#04x}") from error
    except OSError as error:
        raise ManifestError(f"cannot read {path}: {error.strerror or error}") from error


def _check_header(header: list[str], path: Path, needed: Sequence[str]) -> None:
    for name in needed:
        if name not in header:
            raise ManifestError(f"{path} line 1: expected a column {name}, got {', '.join(header) or 'an empty file'}")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice or "" in header:
        raise ManifestError(f"{path} line 1: every column needs a name of its own, got {', '.join(header)}")


def _check_width(cells: list[str], header: list[str], path: Path, line: int) -> None:
    if len(cells) != len(header):
        column = header[len(cells)] if len(cells) < len(header) else f"after {header[-1]}"
        raise ManifestError(f"{path} line {line}, column {column}: expected {len(header)} cells, got {len(cells)}")
