"""Clip rows of a submission, read from its stored blocks and written as JSON, CSV or Parquet."""

from __future__ import annotations

import io
import json
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from operator import attrgetter
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from cachetools import LRUCache

from codec_superb.pipeline.tables.clips import FORMAT, FORMAT_KEY
from codec_superb.server.errors import Unavailable
from codec_superb.server.http.turns import FairTurns
from codec_superb.server.storage.block_parts import Footers
from codec_superb.web.spreadsheets import BEGINS_FORMULA

AT_ONCE = 200
"""Rows that are written at once: texts of up to 2,000 characters in each of some forty columns are decoded for them."""
SENDERS = 64
"""Senders whose requests wait for their turn; those of one wait behind each other."""
PATIENCE_S = 30.0
"""Seconds for which a request waits: 40 pages of 1,000 rows of a million at once take five."""
FOOTERS = 32_000_000
"""Bytes of footers that are kept: that of a million rows has 3 to 10 MB."""


@dataclass(frozen=True, slots=True)
class ClipTurns:
    """Who reads clip rows now; all rows, of which a million take seconds, have turns of their own."""

    pages: FairTurns
    whole: FairTurns
    footers: Footers
    """Of blocks whose pages were read, which takes most of the time of one."""


def clip_turns(state: Any) -> ClipTurns:
    """Return the turns of the application with ``state``."""
    if not hasattr(state, "clip_turns"):
        state.clip_turns = ClipTurns(
            _one_at_a_time(), _one_at_a_time(), LRUCache(FOOTERS, attrgetter("serialized_size"))
        )
    turns: ClipTurns = state.clip_turns
    return turns


def _one_at_a_time() -> FairTurns:
    return FairTurns(1, senders=SENDERS, patience=PATIENCE_S, busy=_busy)


def _busy() -> Unavailable:
    return Unavailable("several others are reading clip rows; ask again in a few seconds", headers={"Retry-After": "5"})


def begun(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Read the first table now, while a fault can still be told by a status."""
    return chain(list(islice(tables, 1)), tables)


def as_json(tables: Iterable[pa.Table], head: Mapping[str, Any]) -> Generator[bytes]:
    """Write ``head`` and, as ``clips``, rows as objects with one entry a column; None where a row has no value."""
    yield f'{_dumps(dict(head))[:-1]},"clips":['.encode()
    pieces = (table.slice(at, AT_ONCE) for table in tables for at in range(0, table.num_rows, AT_ONCE))
    for number, piece in enumerate(pieces):
        rows = ",".join(map(_dumps, piece.to_pylist()))
        yield f"{',' if number else ''}{rows}".encode()
    yield b"]}"


def _dumps(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def as_csv(tables: Iterable[pa.Table]) -> Generator[bytes]:
    """Write the rows of tables with the same columns as CSV with a header.

    A text that begins like a formula gets an apostrophe in front, because spreadsheets would compute it.
    """
    pieces = (table.slice(at, AT_ONCE) for table in tables for at in range(0, max(1, table.num_rows), AT_ONCE))
    for number, piece in enumerate(pieces):
        out = io.BytesIO()
        pyarrow.csv.write_csv(_harmless(piece), out, pyarrow.csv.WriteOptions(include_header=not number))
        yield out.getvalue()


def as_parquet(tables: Iterable[pa.Table], out: BinaryIO) -> None:
    """Write one table or more with the same columns as Parquet in the layout of ``clips.parquet``, with Zstandard.

    One after another: ids of 1,000 characters in 400,000 rows are 400 MB, and were three times that to write at once.
    """
    rest = iter(tables)
    first = next(rest)
    # Arrow's own schema in the metadata is of use to Arrow alone.
    with pq.ParquetWriter(out, first.schema, compression="zstd", store_schema=False) as writer:
        writer.add_key_value_metadata({FORMAT_KEY: FORMAT.encode()})
        for table in chain((first,), rest):
            writer.write_table(table)


def _harmless(table: pa.Table) -> pa.Table:
    import pyarrow.compute as pc

    for position, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_dictionary(field.type):
            texts = table.column(position).cast(pa.string())
            column = pc.replace_substring_regex(texts, BEGINS_FORMULA, r"'\0")
            table = table.set_column(position, field.name, column)
    return table
