"""Write and read tables as Parquet, equally for SQLite and PostgreSQL, in bounded memory; JSON stays text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Connection,
    DateTime,
    Float,
    Insert,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    bindparam,
    cast,
    func,
    insert,
    select,
    text,
)
from sqlalchemy.types import TypeDecorator

from codec_superb.server.errors import OperationError
from codec_superb.server.operations.backup_file import HashingStream

GROUP_ROWS = 2_000
GROUP_BYTES = 8_000_000
"""Limits of a row group, whichever is reached first."""
FETCHED = 16
"""Rows fetched at a time: a row of ``clip_blocks`` may have several megabytes."""
_ARROW: Mapping[type, pa.DataType] = MappingProxyType({
    JSON: pa.string(), Boolean: pa.bool_(), Integer: pa.int64(), Float: pa.float64(),
    DateTime: pa.timestamp("us", tz="UTC"), LargeBinary: pa.binary(), String: pa.string(),
})  # fmt: skip
_PREFIX = "given_"
"""Prefix of parameter names, since SQLAlchemy reserves the names of columns."""


def write_table(connection: Connection, table: Table, stream: HashingStream) -> int:
    """Write all rows of a table, by primary key, and return their number."""
    schema = _schema(table)
    # the text as stored: parsed and written again, numbers and the order of names might change
    wanted = [cast(column, Text).label(column.name) if _is_json(column) else column for column in table.columns]
    found = connection.execute(
        # a server-side cursor in PostgreSQL: a table of clip blocks does not fit into memory
        select(*wanted).order_by(*table.primary_key.columns),
        execution_options={"yield_per": FETCHED},
    )
    count = 0
    with pq.ParquetWriter(pa.PythonFile(stream, mode="w"), schema, compression="zstd") as writer:
        for rows in _groups(found):
            columns = list(zip(*rows, strict=True))
            arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            count += len(rows)
    return count


def read_table(connection: Connection, table: Table, path: Path) -> int:
    """Insert the rows of a file of :func:`write_table`; return the table's number of rows afterwards.

    Raises OperationError for a file of another form or with other columns.
    """
    statement = _insert(table, connection.dialect.name)
    try:
        with pq.ParquetFile(path) as file:
            if {*file.schema_arrow} != {*_schema(table)}:  # in any order: migrations add columns behind others
                raise OperationError(_differs(table, file.schema_arrow))
            for index in range(file.num_row_groups):
                rows = file.read_row_group(index).to_pylist()
                if rows:
                    connection.execute(statement, [{_PREFIX + name: row[name] for name in row} for row in rows])
    except pa.ArrowException as error:
        raise OperationError(f"{table.name}: expected a Parquet file, got another; take another backup") from error
    if connection.dialect.name == "postgresql":
        _continue_counting(connection, table)
    return connection.execute(select(func.count()).select_from(table)).scalar_one()


def _groups(found: Any) -> Iterator[Sequence[Sequence[Any]]]:
    """Cut rows into groups of bounded size."""
    rows: list[Sequence[Any]] = []
    size = 0
    for row in found:
        rows.append(tuple(row))
        size += sum(len(value) for value in row if isinstance(value, (str, bytes)))
        if len(rows) >= GROUP_ROWS or size >= GROUP_BYTES:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


def _schema(table: Table) -> pa.Schema:
    return pa.schema([(column.name, _arrow_type(column)) for column in table.columns])


def _differs(table: Table, got: pa.Schema) -> str:
    odd = sorted({f"{field.name} ({field.type})" for field in {*got} ^ {*_schema(table)}})
    return f"{table.name}: expected the columns of its schema, got others: {', '.join(odd)[:200]}; take another backup"


def _arrow_type(column: Column[Any]) -> pa.DataType:
    kind = column.type.impl if isinstance(column.type, TypeDecorator) else column.type
    for sql, arrow in _ARROW.items():
        if isinstance(kind, sql):
            return arrow
    raise TypeError(f"expected a column that a backup can hold, got {column} of type {column.type!r}")


def _is_json(column: Column[Any]) -> bool:
    return isinstance(column.type, JSON)


def _insert(table: Table, dialect: str) -> Insert:
    """Return the INSERT statement for rows of a file: JSON is text there, which PostgreSQL must cast to json."""
    values = {}
    for column in table.columns:
        given = bindparam(_PREFIX + column.name, type_=Text() if _is_json(column) else column.type)
        values[column.name] = cast(given, column.type) if _is_json(column) and dialect == "postgresql" else given
    return insert(table).values(values)


def _continue_counting(connection: Connection, table: Table) -> None:
    """Set the sequence of the primary key after the largest inserted key; explicit values do not advance it."""
    for column in table.primary_key.columns:
        if isinstance(column.type, Integer):
            name = connection.execute(
                text("SELECT pg_get_serial_sequence(:table, :column)"), {"table": table.name, "column": column.name}
            ).scalar()
            if name is not None:
                last = connection.execute(select(func.max(column))).scalar() or 0
                # inserted ids do not move a PostgreSQL sequence: the next row would take an id that is there
                connection.execute(text("SELECT setval(:name, :next, false)"), {"name": name, "next": last + 1})
