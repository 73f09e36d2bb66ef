"""Writes and reads ``pairs.parquet``, the table of trials and ranks.

The layout is fixed: the columns of :class:`~codec_superb.pipeline.tables.rows.PairRow` in :data:`FIXED`. As in
``clips.parquet``, strings are dictionary-encoded, pages are not compressed and the file's metadata hold the format.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from codec_superb.applications.table import PROBES
from codec_superb.pipeline.errors import ClipTableError
from codec_superb.pipeline.tables.clips import ID_LIMIT
from codec_superb.pipeline.tables.parquet import check_columns, check_format, check_pages, check_text
from codec_superb.pipeline.tables.rows import PairRow

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "1"
FORMAT_KEY = b"codec_superb_pair_table"
MAX_PAIRS = 500_000
"""Most rows of an untrusted table; the cleaned trial list Vox1-O of VoxCeleb1 has 37,611."""
ROW_GROUP = 16_384

FIXED: Mapping[str, str] = {
    "dataset": "string",
    "probe": "string",
    "left": "string",
    "right": "string",
    "target": "bool",
    "reference": "double",
    "resynthesis": "double",
    "enrol_clean": "double",
}
"""Column to Arrow type; only the last is ever null."""
_STRINGS = tuple(name for name, kind in FIXED.items() if kind == "string")
_NUMBERS = tuple(name for name, kind in FIXED.items() if kind == "double")


def _keeping() -> frozenset[str]:
    """Keys of the probes that keep trials, ranks or detections; plug-ins may have joined the table."""
    return frozenset(key for key, probe in PROBES.items() if probe.pairs not in {"", "frames"})


def pair_schema() -> pa.Schema:
    """Arrow schema of the table."""
    import pyarrow as pa

    return pa.schema([pa.field(name, pa.type_for_alias(kind), name == "enrol_clean") for name, kind in FIXED.items()])


def write_pairs(out: Path | BinaryIO, rows: Iterable[PairRow], *, compression: Literal["none", "zstd"] = "none") -> int:
    """Write rows in the order given; return their number. The same rows give the same bytes.

    A path is replaced in one step, or not at all. Raises ClipTableError for a row of a probe that keeps no pairs, and
    for text beyond the limit. A compressed table is for the writer's own storage: :func:`read_pairs` reads it with
    ``own`` alone.
    """
    if not isinstance(out, Path):
        return _write(out, rows, compression)
    # Imported here: the service reads tables but is installed without the packages of data_manifests.
    from codec_superb.data_manifests.files import replacing

    with replacing(out, sync=False) as temporary, temporary.open("wb") as file:
        return _write(file, rows, compression)


def _write(out: BinaryIO, rows: Iterable[PairRow], compression: str) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, count, pending = pair_schema(), 0, iter(rows)
    with pq.ParquetWriter(
        out, schema, compression=compression, use_dictionary=list(_STRINGS), store_schema=False, write_statistics=False
    ) as writer:
        writer.add_key_value_metadata({FORMAT_KEY: FORMAT.encode()})
        while block := list(islice(pending, ROW_GROUP)):
            _refuse(block)
            columns = {name: [getattr(row, name) for row in block] for name in FIXED}
            writer.write_table(pa.Table.from_pydict(columns, schema=schema), row_group_size=ROW_GROUP)
            count += len(block)
    return count


def _refuse(rows: Iterable[PairRow]) -> None:
    keeping = _keeping()
    for row in rows:
        where = f"pair {row.left[:40]!r}, {row.right[:40]!r} of {row.dataset[:40]!r}"
        if row.probe not in keeping:
            raise ClipTableError(f"{where}: expected one of the probes {sorted(keeping)}, got {row.probe[:40]!r}")
        if any(len(getattr(row, name)) > ID_LIMIT for name in _STRINGS):
            raise ClipTableError(f"{where}: expected at most {ID_LIMIT} characters in {', '.join(_STRINGS)}")


def read_pairs(
    source: Path | BinaryIO, *, name: str | None = None, max_rows: int | None = MAX_PAIRS, own: bool = False
) -> tuple[PairRow, ...]:
    """Read all rows of ``source`` (a path, or a seekable binary file) in file order, strictly.

    ``name`` is what errors call the file. Raises ClipTableError saying what was expected and what came: not Parquet,
    another format or layout, compressed pages, more than ``max_rows`` rows, text beyond the limit, numbers that are
    not finite, a probe that keeps no pairs. ``own`` takes compressed pages, of a table that this side wrote and kept.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = name or (source.name if isinstance(source, Path) else "pairs.parquet")
    rows = None if own else check_pages(source, name)
    if rows is not None and max_rows is not None and rows > max_rows:
        raise ClipTableError(f"{name}: expected at most {max_rows} rows, got {rows}")
    try:
        # Arrow's pre-buffering starts threads, and the service forks in the process that reads.
        with pq.ParquetFile(source, read_dictionary=list(_STRINGS), pre_buffer=False) as file:
            check_format(file.metadata.metadata, FORMAT_KEY, FORMAT, name)
            _check_layout(file.schema_arrow, name)
            batches = file.iter_batches(batch_size=4096, use_threads=False)
            found = tuple(row for batch in batches for row in _rows(batch, name))
            declared = file.metadata.num_rows
    except (pa.ArrowException, OSError, ValueError) as error:  # ValueError: text that is not UTF-8
        raise ClipTableError(f"{name}: expected a Parquet file of pairs: {error}") from error
    if len(found) != declared:
        raise ClipTableError(f"{name}: expected {declared} rows, as its footer says; got {len(found)}")
    return found


def _check_layout(found: pa.Schema, name: str) -> None:
    """Compare with the layout; strings were asked for as dictionaries."""
    import pyarrow as pa

    plain = [f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f for f in found]
    check_columns(pa.schema(plain), pair_schema(), name)


def _rows(batch: pa.RecordBatch, name: str) -> Iterator[PairRow]:
    """Check a batch column by column, which validates as much as the record does and is many times quicker."""
    import pyarrow.compute as pc

    check_text(batch, dict.fromkeys(_STRINGS, ID_LIMIT), name)
    for column in FIXED:
        if column != "enrol_clean" and batch.column(column).null_count:
            raise ClipTableError(f"{name}: expected no null in {column}")
    for column in _NUMBERS:
        if pc.all(pc.is_finite(batch.column(column))).as_py() is False:
            raise ClipTableError(f"{name}: expected finite numbers in {column}")
    keeping = _keeping()
    odd = sorted(set(pc.unique(batch.column("probe").cast("string")).to_pylist()) - keeping)
    if odd:
        raise ClipTableError(f"{name}: expected the probes {sorted(keeping)}, got {odd[0][:40]!r}")
    columns = [_values(batch, column) for column in FIXED]
    for values in zip(*columns, strict=True):
        # checked by column above: half a million validations of pydantic take seconds
        yield PairRow.model_construct(_FIELDS, **dict(zip(FIXED, values, strict=True)))


_FIELDS = set(FIXED)
"""One set for all rows: half a million of their own would take 350 MB."""


def _values(batch: pa.RecordBatch, column: str) -> list[Any]:
    """Values of a column; equal strings of a batch are one object."""
    array = batch.column(column)
    if column not in _STRINGS:
        return list(array.to_pylist())
    # one Python string for each distinct id, not for each row
    known = array.dictionary.to_pylist()
    return [known[index] for index in array.indices.to_pylist()]
