"""``clips.parquet``: the one place where clip rows become a Parquet table and come back, streamed in row groups.

The layout is fixed: the columns of :class:`~codec_superb.pipeline.rows.ClipRow` in :data:`FIXED`, then for each metric
K, sorted by key, the three columns ``K`` (double), ``K_status`` and ``K_reason`` (string). A row without a metric has
nulls in its three columns. The file's metadata holds the format version. Strings are dictionary-encoded and pages are
not compressed, so that a file from a stranger cannot unfold in memory; a submission's zip compresses the file anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from pydantic import ValidationError

from codec_superb.pipeline.errors import ClipTableError
from codec_superb.pipeline.parquet_footer import read_footer
from codec_superb.pipeline.rows import ClipRow, MetricValue

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "1"
FORMAT_KEY = b"codec_superb_clip_table"
ROW_GROUP = 1024
"""Rows of a row group: what a writer and a reader hold in memory."""
TEXT_LIMIT = 2000
"""Characters of an error or a reason that are stored; what is longer is cut and says so."""
ID_LIMIT = 1000
"""Characters of a clip id, a dataset name and any other string."""

FIXED: Mapping[str, str] = {
    "clip": "string",
    "dataset": "string",
    "category": "string",
    "status": "string",
    "stage": "string",
    "error_type": "string",
    "error": "string",
    "sampling_rate": "int64",
    "samples": "int64",
    "bits": "int64",
    "tokens": "int64",
    "encode_s": "double",
    "decode_s": "double",
    "lag_samples": "int64",
    "clipped_samples": "int64",
    "resynthesis_sha256": "string",
}
"""Column to Arrow type; the first seven are never null."""
_REQUIRED = frozenset(list(FIXED)[:7])
_KEY = re.compile(r"[a-z][a-z0-9_]{0,63}")
_ENCODINGS = frozenset({"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"})


def clip_schema(metrics: Iterable[str]) -> pa.Schema:
    """Arrow schema of a table with these metrics; ClipTableError for a key that would collide with another column."""
    import pyarrow as pa

    fields = [pa.field(name, pa.type_for_alias(kind), name not in _REQUIRED) for name, kind in FIXED.items()]
    names = set(FIXED)
    for key in sorted(metrics):
        columns = {key: pa.float64(), f"{key}_status": pa.string(), f"{key}_reason": pa.string()}
        if not _KEY.fullmatch(key) or names & set(columns):
            raise ClipTableError(f"metric key {key!r}: expected lower-case letters, digits and _, and no other column")
        names |= set(columns)
        fields += [pa.field(name, kind) for name, kind in columns.items()]
    return pa.schema(fields)


def write_table(
    out: Path | BinaryIO,
    rows: Iterable[ClipRow | Mapping[str, Any]],
    metrics: Iterable[str],
    *,
    compression: Literal["none", "zstd"] = "none",
) -> int:
    """Write rows (ClipRows or their JSON dictionaries) in the order given; return their number.

    Holds one row group in memory. ``metrics`` are the columns of the table; the same rows and metrics give the same
    bytes. A path is replaced in one step, or not at all. Raises ClipTableError when a row has a metric outside
    ``metrics`` or does not follow the contract. A compressed table is for who keeps it: :func:`open_table` reads it
    with ``own`` alone.
    """
    if not isinstance(out, Path):
        return _write(out, rows, metrics, compression)
    # Here, because the service reads tables and installs without what datasets need.
    from codec_superb.data_manifests.files import replacing

    with replacing(out, sync=False) as temporary, temporary.open("wb") as file:
        return _write(file, rows, metrics, compression)


def _write(out: BinaryIO, rows: Iterable[ClipRow | Mapping[str, Any]], metrics: Iterable[str], compression: str) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = clip_schema(metrics)
    keys = _metric_keys(schema.names)
    strings = [field.name for field in schema if pa.types.is_string(field.type)]
    count = 0
    pending = iter(rows)
    with pq.ParquetWriter(
        out, schema, compression=compression, use_dictionary=strings, store_schema=False, write_statistics=False
    ) as writer:
        writer.add_key_value_metadata({FORMAT_KEY: FORMAT.encode()})
        while block := [_record(_valid(row), keys) for row in islice(pending, ROW_GROUP)]:
            writer.write_table(pa.Table.from_pylist(block, schema=schema), row_group_size=ROW_GROUP)
            count += len(block)
    return count


def _valid(row: ClipRow | Mapping[str, Any]) -> ClipRow:
    try:
        return ClipRow.model_validate(row)
    except ValidationError as error:
        raise ClipTableError(f"a row does not follow the contract: {error}") from error


@dataclass(frozen=True, slots=True)
class ClipTable:
    """An opened table whose schema has been checked; iterating reads it, one batch of rows in memory at a time."""

    source: Path | BinaryIO
    name: str
    metrics: tuple[str, ...]
    """Keys of the metric columns."""
    row_count: int

    def __len__(self) -> int:
        """Return the number of rows the file declares."""
        return self.row_count

    def __iter__(self) -> Iterator[ClipRow]:
        """Yield the rows in file order; ClipTableError with the row's number when one does not follow the contract."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = clip_schema(self.metrics)
        strings = [field.name for field in schema if pa.types.is_string(field.type)]
        number = 0
        try:
            # Reading ahead would start threads, and the service forks where it reads.
            with pq.ParquetFile(self.source, read_dictionary=strings, pre_buffer=False) as file:
                for batch in file.iter_batches(batch_size=256, use_threads=False):
                    _check_text(batch, strings, self.name)
                    for record in batch.to_pylist():
                        yield _row(record, self.metrics, f"{self.name}, row {number}")
                        number += 1
        except (pa.ArrowException, OSError, ValueError) as error:  # ValueError: text that is not UTF-8
            raise ClipTableError(f"{self.name}: unreadable after row {number}: {error}") from error
        if number != self.row_count:
            raise ClipTableError(f"{self.name}: expected {self.row_count} rows, as its footer says; got {number}")


def open_table(
    source: Path | BinaryIO, *, name: str | None = None, max_rows: int | None = None, own: bool = False
) -> ClipTable:
    """Open ``source`` (a path, or a seekable binary file) and check its layout strictly; no row is read yet.

    ``name`` is what errors call the file. Raises ClipTableError saying what was expected and what came: not Parquet,
    another format version, columns missing, added, reordered or of another type, compressed pages, too many rows.
    ``own`` takes compressed pages, of a table that this side wrote and kept.
    """
    name = name or (source.name if isinstance(source, Path) else "clips.parquet")
    rows = None if own else _check_pages(source, name)
    if rows is not None and max_rows is not None and rows > max_rows:
        raise ClipTableError(f"{name}: expected at most {max_rows} rows, got {rows}")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(source) as file:
            schema, metadata = file.schema_arrow, file.metadata.metadata
            rows = file.metadata.num_rows if rows is None else rows
    except (pa.ArrowException, OSError, ValueError) as error:
        raise ClipTableError(f"{name}: expected a Parquet file of clip rows: {error}") from error
    _check_format(metadata, name)
    metrics = _metric_keys(schema.names)
    _check_columns(schema, clip_schema(metrics), name)
    return ClipTable(source, name, metrics, rows)


def read_rows(source: Path | BinaryIO) -> Iterator[ClipRow]:
    """Yield the rows of a table in file order; errors as :func:`open_table` and iterating it."""
    yield from open_table(source)


def _metric_keys(columns: Sequence[str]) -> tuple[str, ...]:
    """Every third column after the fixed ones; whether the other two follow is checked against the schema."""
    return tuple(columns[len(FIXED) :: 3])


def _record(row: ClipRow, keys: Sequence[str]) -> dict[str, Any]:
    """One row as column values."""
    extra = sorted(set(row.metrics) - set(keys))
    if extra:
        raise ClipTableError(f"clip {row.clip!r} has the metrics {extra}, the table has the columns {list(keys)}")
    record: dict[str, Any] = {name: getattr(row, name) for name in FIXED}
    record["error"] = _shorten(row.error)
    for name in ("clip", "dataset", "error_type"):
        if len(record[name]) > ID_LIMIT:
            raise ClipTableError(f"{name} {record[name][:40]!r}…: expected at most {ID_LIMIT} characters")
    for key, value in row.metrics.items():
        record |= {key: value.value, f"{key}_status": value.status, f"{key}_reason": _shorten(value.reason)}
    return record


def _shorten(text: str) -> str:
    """Cut a long text and say so, because one huge message must not cost a finished run."""
    if len(text) <= TEXT_LIMIT:
        return text
    return text[: TEXT_LIMIT - 20].rstrip() + " … (shortened)"


def _row(record: dict[str, Any], keys: Sequence[str], where: str) -> ClipRow:
    """One row from column values, validated."""
    metrics: dict[str, MetricValue] = {}
    try:
        for key in keys:
            value, status, reason = record.pop(key), record.pop(f"{key}_status"), record.pop(f"{key}_reason")
            if status is None and value is None and reason is None:
                continue
            metrics[key] = MetricValue(status=status, value=value, reason=reason)
            if (status == "ok") != (value is not None):
                raise ClipTableError(f"{where}: {key} is {status}, and its value is {value}: a value goes with ok only")
        return ClipRow(**record, metrics=metrics)
    except ValidationError as error:
        details = "; ".join(
            f"{'.'.join(map(str, e['loc']))}: {e['msg']}, got {e['input']!r:.60}" for e in error.errors()
        )
        raise ClipTableError(f"{where}: {details}") from error


def _check_format(metadata: Mapping[bytes, bytes] | None, name: str) -> None:
    version = (metadata or {}).get(FORMAT_KEY, b"").decode("ascii", "replace")
    if version != FORMAT:
        found = f"version {version!r:.20}" if version else "no version"
        raise ClipTableError(f"{name}: expected a clip table of format version {FORMAT}, got {found}")


def _check_columns(found: pa.Schema, expected: pa.Schema, name: str) -> None:
    """Compare column by column, so that the error names the first one that differs."""
    for position in range(max(len(found), len(expected))):
        want = expected.field(position) if position < len(expected) else None
        got = found.field(position) if position < len(found) else None
        if want is None or got is None or not want.equals(got):
            raise ClipTableError(f"{name}: expected column {position} to be {_column(want)}, got {_column(got)}")


def _column(field: pa.Field | None) -> str:
    if field is None:
        return "absent"
    return f"{field.name[:60]!r} ({field.type}{'' if field.nullable else ', never null'})"


def _check_pages(source: Path | BinaryIO, name: str) -> int:
    """Refuse compressed pages and encodings that unfold (a kilobyte of them can hold gigabytes); count the rows."""
    try:
        if isinstance(source, Path):
            with source.open("rb") as file:
                footer = read_footer(file)
        else:
            footer = read_footer(source)
    except (ClipTableError, OSError) as error:
        raise ClipTableError(f"{name}: {error}") from error
    for chunk in footer.chunks:
        odd = sorted(chunk.encodings - _ENCODINGS)
        if chunk.codec != "UNCOMPRESSED" or odd:
            raise ClipTableError(
                f"{name}: expected uncompressed plain or dictionary pages, got {chunk.codec} {odd or ''} in "
                f"column {chunk.column[:60]!r}; write it with write_table"
            )
    return footer.rows


def _check_text(batch: pa.RecordBatch, strings: Sequence[str], name: str) -> None:
    """Bound every string before the rows are built; a dictionary holds a repeated string once."""
    import pyarrow.compute as pc

    for column in strings:
        limit = TEXT_LIMIT if column == "error" or column.endswith("_reason") else ID_LIMIT
        longest = pc.max(pc.utf8_length(batch.column(column).dictionary)).as_py() or 0
        if longest > limit:
            raise ClipTableError(f"{name}: expected at most {limit} characters in {column}, got {longest}")
