"""Writes and reads ``clips.parquet``, the table of clip rows, streamed in row groups.

The layout is fixed: the columns of :class:`~codec_superb.pipeline.tables.rows.ClipRow` in :data:`FIXED`, then for each
metric K, sorted by key, the three columns ``K`` (double), ``K_status`` and ``K_reason`` (string), then the columns of
each probe, see :mod:`codec_superb.pipeline.tables.columns`. A row without a metric or a probe has nulls in its columns.
The file's metadata holds the format version. Strings are dictionary-encoded and pages are not compressed, so that an
untrusted file cannot expand in memory; a submission's zip compresses the file anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from pydantic import ValidationError

from codec_superb.applications.table import PROBES
from codec_superb.pipeline.errors import ClipTableError
from codec_superb.pipeline.tables.columns import from_columns, probe_columns, probe_keys, to_columns
from codec_superb.pipeline.tables.parquet import check_columns, check_format, check_pages, check_text
from codec_superb.pipeline.tables.rows import ClipRow, MetricValue, ProbeValue

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

FORMAT = "3"
_LACKING: Mapping[str, frozenset[str]] = {
    "1": frozenset({"cluster", "slice"}), "2": frozenset({"slice"}), FORMAT: frozenset(),
}  # fmt: skip
"""Columns that a format lacks; those before the newest are still read."""
FORMAT_KEY = b"codec_superb_clip_table"
ROW_GROUP = 1024
"""Rows of a row group: what a writer and a reader hold in memory."""
TEXT_LIMIT = 2000
"""Characters of an error or a reason that are stored; longer texts are cut and marked."""
ID_LIMIT = 1000
"""Characters of a clip id, a dataset name and any other string."""

FIXED: Mapping[str, str] = {
    "clip": "string",
    "dataset": "string",
    "category": "string",
    "cluster": "string",
    "slice": "string",
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
"""Column to Arrow type; the first nine are never null."""
REQUIRED = frozenset(list(FIXED)[:9])
_KEY = re.compile(r"[a-z][a-z0-9_]{0,63}")


def clip_schema(metrics: Iterable[str], probes: Iterable[str] = (), *, version: str = FORMAT) -> pa.Schema:
    """Arrow schema of a table with these metrics and probes, in the format ``version``.

    ClipTableError for a metric key that would collide with another column, and for a probe that does not exist.
    """
    import pyarrow as pa

    fields = [
        pa.field(name, pa.type_for_alias(kind), name not in REQUIRED)
        for name, kind in FIXED.items()
        if name not in _LACKING[version]
    ]
    names = set(FIXED)
    for key in sorted(metrics):
        columns = {key: pa.float64(), f"{key}_status": pa.string(), f"{key}_reason": pa.string()}
        if not _KEY.fullmatch(key) or names & set(columns):
            raise ClipTableError(f"metric key {key!r}: expected lower-case letters, digits and _, and no other column")
        names |= set(columns)
        fields += [pa.field(name, kind) for name, kind in columns.items()]
    fields += [pa.field(name, pa.type_for_alias(kind)) for name, kind in probe_columns(probes).items()]
    return pa.schema(fields)


def metric_keys(columns: Sequence[str]) -> tuple[str, ...]:
    """Metrics of a table: every third column between the fixed ones and those of probes.

    Whether the other two follow is checked against the schema.
    """
    fixed = len(FIXED) - len(_LACKING[format_of(columns)])
    return tuple([name for name in columns[fixed:] if "." not in name][::3])


def format_of(columns: Sequence[str]) -> str:
    """Return the format whose fixed columns a table begins with; the newest where it begins with those of none."""
    for version, lacking in _LACKING.items():
        fixed = [name for name in FIXED if name not in lacking]
        if list(columns[: len(fixed)]) == fixed:
            return version
    return FORMAT


def write_table(
    out: Path | BinaryIO,
    rows: Iterable[ClipRow],
    metrics: Iterable[str],
    probes: Iterable[str] = (),
    *,
    compression: Literal["none", "zstd"] = "none",
) -> int:
    """Write rows in the order given; return their number.

    Holds one row group in memory. ``metrics`` and ``probes`` are the columns of the table; the same rows and columns
    give the same bytes. A path is replaced in one step, or not at all. Raises ClipTableError when a row has a metric
    or a probe outside them. A compressed table is for the writer's own storage:
    :func:`open_table` reads it with ``own`` alone.
    """
    schema = clip_schema(metrics, probes)
    return write_blocks(out, _blocks(rows, schema), schema, compression=compression)


def write_blocks(
    out: Path | BinaryIO,
    blocks: Iterable[pa.Table],
    schema: pa.Schema,
    *,
    compression: Literal["none", "zstd"] = "none",
) -> int:
    """Write blocks of rows of a schema by :func:`clip_schema`, each a number of whole row groups but for the last.

    Otherwise as :func:`write_table`, whose bytes these are.
    """
    if not isinstance(out, Path):
        return _write(out, blocks, schema, compression)
    # Imported here: the service reads tables but is installed without the packages of data_manifests.
    from codec_superb.data_manifests.files import replacing

    with replacing(out, sync=False) as temporary, temporary.open("wb") as file:
        return _write(file, blocks, schema, compression)


def table_of(rows: Iterable[ClipRow], metrics: Iterable[str], probes: Iterable[str]) -> pa.Table:
    """Return rows as columns in memory. ClipTableError as :func:`write_table`."""
    import pyarrow as pa

    schema = clip_schema(metrics, probes)
    blocks = list(_blocks(rows, schema))
    return pa.concat_tables(blocks) if blocks else schema.empty_table()


def _blocks(rows: Iterable[ClipRow], schema: pa.Schema) -> Iterator[pa.Table]:
    import pyarrow as pa

    keys, probes = metric_keys(schema.names), probe_keys(schema.names)
    pending = iter(rows)
    while block := [_record(row, keys, probes) for row in islice(pending, ROW_GROUP)]:
        yield pa.Table.from_pylist(block, schema=schema)


def _write(out: BinaryIO, blocks: Iterable[pa.Table], schema: pa.Schema, compression: str) -> int:
    count = 0
    with table_writer(out, schema, compression=compression) as writer:
        for block in blocks:
            writer.write_table(block, row_group_size=ROW_GROUP)
            count += block.num_rows
    return count


@contextmanager
def table_writer(out: BinaryIO, schema: pa.Schema, *, compression: str) -> Iterator[pq.ParquetWriter]:
    """Yield a writer of a clip table, which is fed with blocks of rows as :func:`write_blocks` takes them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    strings = [field.name for field in schema if pa.types.is_string(field.type)]
    with pq.ParquetWriter(
        out, schema, compression=compression, use_dictionary=strings, store_schema=False, write_statistics=False
    ) as writer:
        writer.add_key_value_metadata({FORMAT_KEY: FORMAT.encode()})
        yield writer


@dataclass(frozen=True, slots=True)
class ClipTable:
    """An opened table whose schema has been checked; iterating reads it, one batch of rows in memory at a time."""

    source: Path | BinaryIO
    name: str
    metrics: tuple[str, ...]
    """Keys of the metric columns."""
    probes: tuple[str, ...]
    """Keys of the probes that have columns."""
    row_count: int
    version: str = FORMAT
    """Format of the table."""

    def __len__(self) -> int:
        """Return the number of rows the file declares."""
        return self.row_count

    def __iter__(self) -> Iterator[ClipRow]:
        """Yield the rows in file order; ClipTableError with the row's number when one does not follow the contract."""
        number = 0
        for block in self.blocks():
            yield from self.rows_of(block, number)
            number += block.num_rows

    def rows_of(self, block: pa.Table, first: int) -> Iterator[ClipRow]:
        """Yield the rows of a block, which begins with row ``first``; raises as iterating does."""
        for number, record in enumerate(block.to_pylist(), start=first):
            yield row_of(record, self.metrics, self.probes, f"{self.name}, row {number}")

    def blocks(self) -> Iterator[pa.Table]:
        """Yield the columns in blocks of rows. Raises ClipTableError for what cannot be read, and for long texts."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = clip_schema(self.metrics, self.probes, version=self.version)
        columns = schema.names
        limits = {field.name: _limit(field.name) for field in schema if pa.types.is_string(field.type)}
        number = 0
        try:
            # Arrow's pre-buffering starts threads, and the service forks in the process that reads.
            with pq.ParquetFile(self.source, read_dictionary=list(limits), pre_buffer=False) as file:
                for batch in file.iter_batches(batch_size=256, use_threads=False, columns=columns):
                    check_text(batch, limits, self.name)
                    yield pa.Table.from_batches([batch])
                    number += batch.num_rows
        except (pa.ArrowException, OSError, ValueError) as error:
            raise ClipTableError(f"{self.name}: unreadable after row {number}: {error}") from error
        if number != self.row_count:
            raise ClipTableError(f"{self.name}: expected {self.row_count} rows, as its footer says; got {number}")


def open_table(
    source: Path | BinaryIO,
    *,
    name: str | None = None,
    max_rows: int | None = None,
    own: bool = False,
    leave: bool = False,
) -> ClipTable:
    """Open ``source`` (a path, or a seekable binary file) and check its layout strictly; no row is read yet.

    ``name`` is what errors call the file. Raises ClipTableError saying what was expected and what came: not Parquet,
    another format version, columns missing, added, reordered or of another type, compressed pages, too many rows.
    ``own`` takes compressed pages, of a table that this side wrote and kept. ``leave`` leaves out the columns of probes
    that are not in the table of this process: of plug-ins that this command does not load.
    """
    name = name or (source.name if isinstance(source, Path) else "clips.parquet")
    rows = None if own else check_pages(source, name)
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
    stated = (metadata or {}).get(FORMAT_KEY, b"").decode("utf-8", "replace")
    version = stated if stated in _LACKING else FORMAT
    check_format(metadata, FORMAT_KEY, version, name)
    metrics, probes = metric_keys(schema.names), probe_keys(schema.names)
    if leave:
        probes = tuple(key for key in probes if key in PROBES)
        schema = pa.schema([field for field in schema if all(key in probes for key in probe_keys([field.name]))])
    try:
        expected = clip_schema(metrics, probes, version=version)
    except ClipTableError as error:
        raise ClipTableError(f"{name}: {error}") from error
    check_columns(schema, expected, name)
    return ClipTable(source, name, metrics, probes, rows, version)


def read_rows(source: Path | BinaryIO, *, leave: bool = False) -> Iterator[ClipRow]:
    """Yield the rows of a table in file order; ``leave`` and errors as :func:`open_table` and iterating it."""
    yield from open_table(source, leave=leave)


def _limit(column: str) -> int:
    """Most characters of a string column."""
    return TEXT_LIMIT if column == "error" or column.endswith(("_reason", ".reason")) else ID_LIMIT


def _record(row: ClipRow, keys: Sequence[str], probes: Sequence[str]) -> dict[str, Any]:
    """One row as column values."""
    for kind, present, known in (("metrics", row.metrics, keys), ("probes", row.probes, probes)):
        extra = sorted(set(present) - set(known))
        if extra:
            raise ClipTableError(f"clip {row.clip!r} has the {kind} {extra}, the table has columns for {list(known)}")
    record: dict[str, Any] = {name: getattr(row, name) for name in FIXED}
    record["error"] = shorten(row.error)
    for name in ("clip", "dataset", "error_type"):
        if len(record[name]) > ID_LIMIT:
            raise ClipTableError(f"{name} {record[name][:40]!r}…: expected at most {ID_LIMIT} characters")
    for key, value in row.metrics.items():
        record |= {key: value.value, f"{key}_status": value.status, f"{key}_reason": shorten(value.reason)}
    try:
        for key, entry in row.probes.items():
            record |= to_columns(key, entry, shorten(entry.reason))
    except ClipTableError as error:
        raise ClipTableError(f"clip {row.clip!r}: {error}") from error
    return record


def shorten(text: str) -> str:
    """Cut a text of more than :data:`TEXT_LIMIT` characters and mark the cut: it must not invalidate a finished run."""
    if len(text) <= TEXT_LIMIT:
        return text
    return text[: TEXT_LIMIT - 20].rstrip() + " … (shortened)"


def _refuse_value(key: str, status: str, value: float | None) -> None:
    if (status == "ok") != (value is not None):
        raise ClipTableError(f"{key} is {status}, and its value is {value}: a value goes with ok only")


def row_of(record: dict[str, Any], keys: Sequence[str], probes: Sequence[str], where: str) -> ClipRow:
    """Return one row from its values by column, which are taken out. ClipTableError, which says ``where``."""
    metrics: dict[str, MetricValue] = {}
    probed: dict[str, ProbeValue] = {}
    try:
        for key in keys:
            value, status, reason = record.pop(key), record.pop(f"{key}_status"), record.pop(f"{key}_reason")
            if status is None and value is None and reason is None:
                continue
            metrics[key] = MetricValue(status=status, value=value, reason=reason)
            _refuse_value(key, status, value)
        for key in probes:
            entry = from_columns(key, record)
            if entry is not None:
                probed[key] = entry
        return ClipRow(**record, metrics=metrics, probes=probed)
    except ClipTableError as error:
        raise ClipTableError(f"{where}: {error}") from error
    except ValidationError as error:
        details = "; ".join(
            f"{'.'.join(map(str, e['loc']))}: {e['msg']}, got {e['input']!r:.60}" for e in error.errors()
        )
        raise ClipTableError(f"{where}: {details}") from error
