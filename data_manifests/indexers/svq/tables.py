"""Find and read the publisher's tables, JSON lines or Parquet, by their names and columns.

A table ``query_reranking`` is ``query_reranking.jsonl`` or ``.parquet``, its shards ``query_reranking-00000-of-00002``,
or all tables in a folder of that name, at any depth: version 1 has a file a task, version 2 one a locale and condition.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.tables import json_row

Row = dict[str, Any]

_SUFFIXES = {".jsonl", ".parquet"}
_SHARD = re.compile(r"-\d{5}-of-\d{5}$")
_ROWS_AT_ONCE = 1024


class Folder:
    """The tables below the publisher's folder; the tree is listed once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        found = (path for path in root.rglob("*") if path.suffix in _SUFFIXES and path.is_file())
        # .cache is what the hub's client leaves beside its downloads
        self.paths = sorted(p for p in found if not any(part.startswith(".") for part in p.relative_to(root).parts))

    def named(self, name: str) -> list[Path]:
        """Return the files of the table ``name``, in the order of their paths."""
        return [path for path in self.paths if name in (_SHARD.sub("", path.stem), *self._parents(path))]

    def rows(
        self, name: str, columns: tuple[str, ...], more: tuple[str, ...] = (), *, locale: str | None = None
    ) -> Iterator[tuple[Path, str, Row]]:
        """Yield file, place for errors, and row of the table ``name``.

        With ``locale``, rows of that locale and rows that name none. ``more`` are columns that a table need not have.
        Raises LayoutError for a file that is no table or lacks one of ``columns``.
        """
        for path in self.named(name):
            for number, row in enumerate(read_table(path, columns, more, locale), start=1):
                if locale is None or same_locale(row.get("locale"), locale):
                    yield path, f"{path}, row {number}", row

    def _parents(self, path: Path) -> tuple[str, ...]:
        return path.relative_to(self.root).parts[:-1]


def read_table(path: Path, columns: tuple[str, ...], more: tuple[str, ...], locale: str | None) -> Iterator[Row]:
    """Yield the rows of one file. Of Parquet, row groups that cannot hold ``locale`` are not read.

    Raises LayoutError naming the file, the row, and the columns that were expected.
    """
    if path.suffix == ".jsonl":
        yield from _json_lines(path, columns)
        return
    file = open_parquet(path)
    check_columns(file.schema_arrow.names, columns, str(path))
    wanted = [name for name in file.schema_arrow.names if name in {*columns, *more, "locale"}]
    for group in groups_of(file, locale):
        for batch in file.iter_batches(_ROWS_AT_ONCE, row_groups=[group], columns=wanted):
            yield from batch.to_pylist()


def open_parquet(path: Path) -> Any:
    """Return the opened file. Raises LayoutError for one that is no Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise LayoutError(f"{path} is no Parquet file that can be read; download it again") from error


def groups_of(file: Any, locale: str | None) -> list[int]:
    """Return the row groups of a Parquet file that may hold rows of ``locale``, by the statistics of that column."""
    metadata, names = file.metadata, file.schema_arrow.names
    if locale is None or "locale" not in names:
        return list(range(metadata.num_row_groups))
    leaves = [metadata.schema.column(number).path for number in range(metadata.num_columns)]
    column = leaves.index("locale")
    return [n for n in range(metadata.num_row_groups) if _may_hold(metadata.row_group(n).column(column), locale)]


def _may_hold(column: Any, locale: str) -> bool:
    least_most = column.statistics
    if least_most is None or not least_most.has_min_max:
        return True
    least, most = str(least_most.min), str(least_most.max)
    # another spelling (`en-US`) is ordered otherwise: only what is written alike is ruled out
    alike = least == normal_locale(least) and most == normal_locale(most)
    return not alike or least <= locale <= most


def _json_lines(path: Path, columns: tuple[str, ...]) -> Iterator[Row]:
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _object(line, columns, f"{path} line {number}")
    except UnicodeDecodeError as error:
        raise LayoutError(f"{path} is no UTF-8 text: {error.reason}; download it again") from error


def _object(line: str, columns: tuple[str, ...], where: str) -> Row:
    row = json_row(line, where, columns)
    check_columns(row, columns, where)
    return row


def check_columns(came: Iterable[str], columns: tuple[str, ...], where: str) -> None:
    """Raise LayoutError when one of ``columns`` is not there."""
    lacking = [name for name in columns if name not in came]
    if lacking:
        raise LayoutError(f"{where}: expected the columns {', '.join(columns)}; lacking: {', '.join(lacking)}")


def normal_locale(value: object) -> str:
    """Return a locale as the publisher's tables write it: ``en_us``."""
    return str(value).lower().replace("-", "_")


def same_locale(value: object, locale: str) -> bool:
    """Whether a row of a table is of the locale; one that names none may be."""
    return value is None or normal_locale(value) == locale


def text_of(value: object, where: str, column: str) -> str:
    """Return a cell as text: '' for none, digits for a whole number. Raises LayoutError for anything else."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, float) and value.is_integer():  # a column with gaps, as pandas writes it
        return str(int(value))
    raise LayoutError(f"{where}: expected {column} to be text, got {str(value)[:60]!r}")


def texts_of(value: object, where: str, column: str) -> list[str]:
    """Return a cell that holds a list of texts; [] for none. Raises LayoutError for anything else."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise LayoutError(f"{where}: expected {column} to be a list of texts, got {str(value)[:60]!r}")
    return [text_of(item, where, column) for item in value]
