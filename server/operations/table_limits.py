"""Find rows that SQLite stores and PostgreSQL refuses: SQLite ignores the length of a text and the size of a number."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from sqlalchemy import JSON, BigInteger, Column, Integer, String, Table

_LARGEST = 2**31 - 1
"""Of PostgreSQL's INTEGER."""
_SHOWN = 40


def unfit(table: Table, path: Path) -> Iterator[str]:
    """Say of rows in a file of ``table_dump.write_table`` what PostgreSQL refuses in them; the first of each column.

    ``table`` is that of the schema, whose columns have their lengths.
    """
    with pq.ParquetFile(path) as file:
        for index in range(file.num_row_groups):
            rows = file.read_row_group(index)
            for column in table.columns:
                for reason, mask in _tests(column, rows[column.name]):
                    place = pc.index(mask, True).as_py()
                    if place >= 0:
                        key = ", ".join(str(rows[part.name][place])[:_SHOWN] for part in table.primary_key.columns)
                        yield f"{table.name}.{column.name} of row {key} has {reason}"


def _tests(column: Column[Any], values: pa.ChunkedArray) -> Iterator[tuple[str, pa.ChunkedArray]]:
    kind = column.type
    if isinstance(kind, JSON):
        yield "something that is no JSON", pa.chunked_array([pa.array([not _is_json(text) for text in values])])
    elif isinstance(kind, Integer) and not isinstance(kind, BigInteger):
        yield "a number of more than 32 bits", pc.or_(pc.greater(values, _LARGEST), pc.less(values, -_LARGEST - 1))
    elif isinstance(kind, String):
        if kind.length:
            yield f"more than {kind.length} characters", pc.greater(pc.utf8_length(values), kind.length)
        yield "a character of code 0", pc.match_substring(values, "\0")


def _is_json(text: pa.Scalar) -> bool:
    """Whether PostgreSQL takes a text as json (RFC 8259), which NaN is not."""
    given = text.as_py()
    if given is None:
        return True
    try:
        json.loads(given, parse_constant=_refuse)
    except ValueError:
        return False
    return True


def _refuse(name: str) -> None:
    raise ValueError(name)
