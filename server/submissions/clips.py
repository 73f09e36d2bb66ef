"""Clip rows of a submission, read from its stored blocks and written as JSON, CSV or Parquet."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from codec_superb.pipeline.tables.clips import FORMAT, FORMAT_KEY
from codec_superb.server.database.models import ClipBlock
from codec_superb.server.storage.clip_blocks import block_table
from codec_superb.web.spreadsheets import BEGINS_FORMULA

AT_ONCE = 200
"""Rows that are written at once: texts of up to 2,000 characters in each of some forty columns are decoded for them."""


def table_of(blocks: Sequence[ClipBlock]) -> pa.Table:
    """Read blocks of one submission, which have the same columns, into one table in the order given."""
    return pa.concat_tables(block_table(block.data) for block in blocks)


def as_json(table: pa.Table, offset: int, limit: int, head: Mapping[str, Any]) -> Iterator[bytes]:
    """Write ``head`` and, as ``clips``, rows as objects with one entry a column; None where a row has no value."""
    yield f'{_dumps(dict(head))[:-1]},"clips":['.encode()
    chosen = table.slice(offset, limit)
    for start in range(0, chosen.num_rows, AT_ONCE):
        rows = ",".join(map(_dumps, chosen.slice(start, AT_ONCE).to_pylist()))
        yield f"{',' if start else ''}{rows}".encode()
    yield b"]}"


def _dumps(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def as_csv(table: pa.Table) -> Iterator[bytes]:
    """Write CSV with a header.

    A text that begins like a formula gets an apostrophe in front, because spreadsheets would compute it.
    """
    for start in range(0, max(1, table.num_rows), AT_ONCE):
        out = io.BytesIO()
        options = pyarrow.csv.WriteOptions(include_header=not start)
        pyarrow.csv.write_csv(_harmless(table.slice(start, AT_ONCE)), out, options)
        yield out.getvalue()


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
        if pa.types.is_string(field.type) or pa.types.is_dictionary(field.type):
            texts = table.column(position).cast(pa.string())
            column = pc.replace_substring_regex(texts, BEGINS_FORMULA, r"'\0")
            table = table.set_column(position, field.name, column)
    return table
