"""Writes and reads ``pairs.parquet``, the table of trials, ranks and counts.

The layout is fixed: the columns of :class:`~codec_superb.pipeline.tables.rows.PairRow` in :data:`FIXED`. As in
``clips.parquet``, strings are dictionary-encoded, pages are not compressed and the file's metadata hold the format.
A row is a trial, a rank or a count; those counts of a clip that stand together are one
:class:`~codec_superb.pipeline.tables.rows.CountsRow` in memory, which a codec of many codebooks has a thousand of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from codec_superb.applications.table import PROBES
from codec_superb.pipeline.errors import ClipTableError
from codec_superb.pipeline.tables.clips import ID_LIMIT
from codec_superb.pipeline.tables.parquet import check_columns, check_format, check_pages, check_text
from codec_superb.pipeline.tables.rows import CountsRow, PairRow, counts_row

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "1"
FORMAT_KEY = b"codec_superb_pair_table"
MAX_PAIRS = 500_000
"""Most trials, ranks and clips with counts of an untrusted table; the cleaned list Vox1-O of VoxCeleb1 has 37,611."""
MAX_COUNTS = 4_000_000
"""Most rows of an untrusted table, counts included: 2,620 clips of a codec with 46 codebooks have 2.9 million."""
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
    """Keys of the probes that keep trials, ranks, detections or counts; plug-ins may have joined the table."""
    return frozenset(key for key, probe in PROBES.items() if probe.pairs not in {"", "frames"})


def _counting() -> frozenset[str]:
    """Keys of those that keep counts."""
    return frozenset(key for key, probe in PROBES.items() if probe.pairs == "counts")


def pair_schema() -> pa.Schema:
    """Arrow schema of the table."""
    import pyarrow as pa

    return pa.schema([pa.field(name, pa.type_for_alias(kind), name == "enrol_clean") for name, kind in FIXED.items()])


def write_pairs(
    out: Path | BinaryIO, rows: Iterable[PairRow | CountsRow], *, compression: Literal["none", "zstd"] = "none"
) -> int:
    """Write rows in the order given; return their number in the file. The same rows give the same bytes.

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


def _write(out: BinaryIO, rows: Iterable[PairRow | CountsRow], compression: str) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, count, pending = pair_schema(), 0, _flat(rows)
    with pq.ParquetWriter(
        out, schema, compression=compression, use_dictionary=list(_STRINGS), store_schema=False, write_statistics=False
    ) as writer:
        writer.add_key_value_metadata({FORMAT_KEY: FORMAT.encode()})
        while block := list(islice(pending, ROW_GROUP)):
            _refuse(block)
            columns = dict(zip(FIXED, map(list, zip(*block, strict=True)), strict=True))
            writer.write_table(pa.Table.from_pydict(columns, schema=schema), row_group_size=ROW_GROUP)
            count += len(block)
    return count


_Flat = tuple[str, str, str, str, bool, float, float, float | None]
"""A row of the file, in the order of :data:`FIXED`."""


def _flat(rows: Iterable[PairRow | CountsRow]) -> Iterator[_Flat]:
    for row in rows:
        if isinstance(row, PairRow):
            yield (
                row.dataset, row.probe, row.left, row.right, row.target, row.reference, row.resynthesis,
                row.enrol_clean,
            )  # fmt: skip
        else:
            for name, total, value in zip(row.names, *(part.tolist() for part in row.numbers), strict=True):
                yield row.dataset, row.probe, row.clip, name, True, total, value, None


def _refuse(rows: Iterable[_Flat]) -> None:
    keeping = _keeping()
    for dataset, probe, left, right, *_ in rows:
        where = f"pair {left[:40]!r}, {right[:40]!r} of {dataset[:40]!r}"
        if probe not in keeping:
            raise ClipTableError(f"{where}: expected one of the probes {sorted(keeping)}, got {probe[:40]!r}")
        if any(len(text) > ID_LIMIT for text in (dataset, probe, left, right)):
            raise ClipTableError(f"{where}: expected at most {ID_LIMIT} characters in {', '.join(_STRINGS)}")


def read_pairs(
    source: Path | BinaryIO, *, name: str | None = None, max_rows: int | None = MAX_PAIRS, own: bool = False
) -> tuple[PairRow | CountsRow, ...]:
    """Read all rows of ``source`` (a path, or a seekable binary file) in file order, strictly.

    ``name`` is what errors call the file. Raises ClipTableError saying what was expected and what came: not Parquet,
    another format or layout, compressed pages, more than ``max_rows`` rows where the counts of a clip are one, or more
    than :data:`MAX_COUNTS` in the file, text beyond the limit, numbers that are not finite, a probe that keeps no
    pairs, a count that says more than a total and a value. ``own`` takes compressed pages, of a table that
    this side wrote and kept.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = name or (source.name if isinstance(source, Path) else "pairs.parquet")
    rows = None if own else check_pages(source, name)
    most = None if max_rows is None else max(max_rows, MAX_COUNTS)
    if rows is not None and most is not None and rows > most:
        raise ClipTableError(f"{name}: expected at most {most} rows, got {rows}")
    try:
        # Arrow's pre-buffering starts threads, and the service forks in the process that reads.
        with pq.ParquetFile(source, read_dictionary=list(_STRINGS), pre_buffer=False) as file:
            check_format(file.metadata.metadata, FORMAT_KEY, FORMAT, name)
            _check_layout(file.schema_arrow, name)
            batches = file.iter_batches(batch_size=4096, use_threads=False)
            rows_of = _together(row for batch in batches for row in _rows(batch, name))
            found = tuple(islice(rows_of, None if max_rows is None else max_rows + 1))
            declared = file.metadata.num_rows
    except (pa.ArrowException, OSError, ValueError) as error:  # ValueError: text that is not UTF-8
        raise ClipTableError(f"{name}: expected a Parquet file of pairs: {error}") from error
    if max_rows is not None and len(found) > max_rows:
        raise ClipTableError(f"{name}: expected at most {max_rows} rows, the counts of a clip as one; got more")
    read = sum(1 if isinstance(row, PairRow) else len(row.names) for row in found)
    if read != declared:
        raise ClipTableError(f"{name}: expected {declared} rows, as its footer says; got {read}")
    return found


def _check_layout(found: pa.Schema, name: str) -> None:
    """Compare with the layout; strings were asked for as dictionaries."""
    import pyarrow as pa

    plain = [f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f for f in found]
    check_columns(pa.schema(plain), pair_schema(), name)


def _together(rows: Iterable[PairRow | CountsRow]) -> Iterator[PairRow | CountsRow]:
    """Join the counts of a clip that stand together; equal names of clips become one object."""
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    for key, its in groupby(rows, key=_key):
        if key is None:
            yield from its
            continue
        parts = [row for row in its if isinstance(row, CountsRow)]
        names = tuple(chain.from_iterable(part.names for part in parts))
        yield CountsRow.model_construct(
            dataset=key[0], probe=key[1], clip=key[2], names=known.setdefault(names, names),
            totals=b"".join(part.totals for part in parts), values=b"".join(part.values for part in parts),
        )  # fmt: skip


def _key(row: PairRow | CountsRow) -> tuple[str, str, str] | None:
    return None if isinstance(row, PairRow) else (row.dataset, row.probe, row.clip)


def _rows(batch: pa.RecordBatch, name: str) -> Iterator[PairRow | CountsRow]:
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
    counting = _counting()
    for key, its in groupby(zip(*columns, strict=True), key=lambda row: row[:3] if row[1] in counting else None):
        if key is None:
            for values in its:
                # checked by column above: half a million validations of pydantic take seconds
                yield PairRow.model_construct(_FIELDS, **dict(zip(FIXED, values, strict=True)))
        else:
            *_, names, targets, totals, found, clean = zip(*its, strict=True)
            if not all(targets) or any(score is not None for score in clean):
                raise ClipTableError(f"{name}: expected target true and no enrol_clean for a count, got another row")
            dataset, probe, clip = key
            yield counts_row(dataset, probe, clip, names, totals, found)


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
