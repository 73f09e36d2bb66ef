"""Read a collection from a table, CSV or Parquet, with the columns of :class:`CollectionRow` by their names."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from codec_superb.data_manifests.collections import MAX_TEXT_BYTES, NUMBERS, STRINGS, CollectionRow
from codec_superb.data_manifests.errors import ManifestError

SUFFIXES = (".csv", ".parquet")
_COLUMNS = CollectionRow._fields
_ROWS_AT_ONCE = 1024

# The module's own limit is 131,072 characters a cell, and one setting for the process; a row's text may be longer.
csv.field_size_limit(max(csv.field_size_limit(), 2 * MAX_TEXT_BYTES))


class TableRows(Iterable[CollectionRow]):
    """The rows of one table, read anew at each pass; an empty or absent cell is '' or None."""

    def __init__(self, path: Path, content: bytes | None = None) -> None:
        """``path`` tells the kind by its suffix, and appears in errors; ``content`` is read in place of that file."""
        self.path = path
        self._content = content

    def __iter__(self) -> Iterator[CollectionRow]:
        """Yield the rows. Raises ManifestError naming the file, the row and what was expected."""
        try:
            if self.path.suffix == ".csv":
                # utf-8-sig: spreadsheet programs write a byte order mark
                with io.TextIOWrapper(self._opened(), encoding="utf-8-sig", newline="") as lines:
                    yield from _from_csv(lines, self.path)
            else:
                with self._opened() as file:
                    yield from _from_parquet(file, self.path)
        except OSError as error:
            raise ManifestError(f"cannot read {self.path}: {error.strerror or error}") from error

    def _opened(self) -> BinaryIO:
        return self.path.open("rb") if self._content is None else io.BytesIO(self._content)


def _from_csv(lines: TextIO, path: Path) -> Iterator[CollectionRow]:
    reader = csv.reader(lines, strict=True)
    number = 0
    try:
        header = [name.strip() for name in next(reader, [])]
        _check_columns(header, path)
        for cells in reader:
            if not cells:
                continue
            number += 1
            if len(cells) != len(header):
                raise ManifestError(
                    f"{path}, row {number}: expected {len(header)} cells, got {len(cells)}; "
                    "put quotes around texts with commas"
                )
            yield _row(dict(zip(header, cells, strict=True)), path, number)
    except csv.Error as error:
        remedy = "close every quote, and keep texts below 1 MiB"
        raise ManifestError(f"{path}, row {number + 1}: no CSV ({error}): {remedy}") from error
    except UnicodeDecodeError as error:
        raise ManifestError(
            f"{path}, row {number + 1}: expected UTF-8, got byte {error.object[error.start]:#04x}; save it as UTF-8"
        ) from error


def _from_parquet(file: BinaryIO, path: Path) -> Iterator[CollectionRow]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        table = pq.ParquetFile(file)
        _check_columns(table.schema_arrow.names, path)
        for batch in table.iter_batches(batch_size=_ROWS_AT_ONCE):
            for cells in batch.to_pylist():
                number += 1
                yield _row(cells, path, number)
    except pa.ArrowException as error:
        raise ManifestError(f"{path} is no Parquet file: {' '.join(str(error).split())[:200]}") from error


def _row(cells: Mapping[str, Any], path: Path, number: int) -> CollectionRow:
    texts = ("" if cells.get(name) is None else cells[name] for name in STRINGS)
    numbers = (_number(cells.get(name), f"{path}, row {number}, column {name}") for name in NUMBERS)
    return CollectionRow._make((*texts, *numbers))


def _number(cell: Any, where: str) -> Any:
    if not isinstance(cell, str):
        return cell
    try:
        return float(cell.replace("_", "?")) if cell.strip() else None  # float takes 1_0 for 10
    except ValueError as error:
        wanted = "expected a number with a decimal point, or nothing"
        raise ManifestError(f"{where}: {wanted}, got {cell[:60]!r}; correct it") from error


def _check_columns(header: list[str], path: Path) -> None:
    came = ", ".join(header) or "none"
    if "id" not in header or not {"text", "weight"} & set(header):
        raise ManifestError(f"{path}: expected the columns id and text, and any of {', '.join(_COLUMNS)}; got {came}")
    unknown = sorted(set(header) - set(_COLUMNS))
    if unknown or len(set(header)) < len(header):
        raise ManifestError(f"{path}: expected columns of {', '.join(_COLUMNS)}, each once; got {came}")
