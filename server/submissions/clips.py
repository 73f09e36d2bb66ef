"""Clip rows of a submission, read from its stored blocks and written as JSON, CSV or Parquet."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from codec_superb.pipeline.tables.clips import FORMAT, FORMAT_KEY
from codec_superb.server.database.models import ClipBlock
from codec_superb.web.spreadsheets import BEGINS_FORMULA


def table_of(blocks: Sequence[ClipBlock]) -> pa.Table:
    """Read blocks of one submission, which have the same columns, into one table in the order given."""
    # The service wrote these blocks itself; Arrow's pre-buffering would only start threads.
    return pa.concat_tables(
        pq.read_table(io.BytesIO(block.data), use_threads=False, pre_buffer=False) for block in blocks
    )


def as_rows(table: pa.Table, offset: int, limit: int) -> list[dict[str, Any]]:
    """Rows as plain data, one entry a column; None where a row has no value."""
    rows: list[dict[str, Any]] = table.slice(offset, limit).to_pylist()
    return rows


def as_csv(table: pa.Table) -> bytes:
    """Write CSV with a header.

    A text that begins like a formula gets an apostrophe in front, because spreadsheets would compute it.
    """
    out = io.BytesIO()
    pyarrow.csv.write_csv(_harmless(table), out)
    return out.getvalue()


def as_parquet(table: pa.Table) -> bytes:
    """Write Parquet in the layout of ``clips.parquet``, compressed with Zstandard."""
    out = io.BytesIO()
    # Arrow's own schema in the metadata is of use to Arrow alone.
    with pq.ParquetWriter(out, table.schema, compression="zstd", store_schema=False) as writer:
        writer.add_key_value_metadata({FORMAT_KEY: FORMAT.encode()})
        writer.write_table(table)
    return out.getvalue()


def _harmless(table: pa.Table) -> pa.Table:
    import pyarrow.compute as pc

    for position, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            column = pc.replace_substring_regex(table.column(position), BEGINS_FORMULA, r"'\0")
            table = table.set_column(position, field, column)
    return table
