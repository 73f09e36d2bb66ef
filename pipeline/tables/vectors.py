"""Writes and reads ``vectors.parquet``, the table of frames that probes keep: a row for each clip of a probe.

The layout is fixed: the columns of :class:`~codec_superb.pipeline.tables.rows.FramesRow` in :data:`FIXED`, in the
encodings of ``pairs.parquet``. Numbers are half floats with a power of two for each clip, so that what they lose is a
two-thousandth of each, from the largest of the clip to a billionth of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.table import PROBES
from codec_superb.pipeline.errors import ClipTableError
from codec_superb.pipeline.tables.clips import ID_LIMIT
from codec_superb.pipeline.tables.parquet import check_columns, check_format, check_pages, check_text
from codec_superb.pipeline.tables.rows import FramesRow

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "1"
FORMAT_KEY = b"codec_superb_vector_table"
MAX_CLIPS = 200_000
"""Most rows of an untrusted table."""
MOST_DIMENSIONS = 1 << 14
"""Numbers of a frame: the power spectrum of 32,768 samples has as many and one."""
ROW_GROUP = 256
_SCALES = (2.0**-60, 2.0**24)
"""Least and largest scale: with it half floats reach from 1e-25 to 1e12."""
LARGEST = 2.0**39
"""Numbers of a frame are below it."""

FIXED: Mapping[str, str] = {
    "dataset": "string",
    "probe": "string",
    "clip": "string",
    "frames": "int64",
    "dimensions": "int64",
    "scale": "double",
    "reference": "binary",
    "resynthesis": "binary",
}
"""Column to Arrow type; none is ever null."""
_STRINGS = tuple(name for name, kind in FIXED.items() if kind == "string")
_SIDES = ("reference", "resynthesis")


def frames_row(
    dataset: str, probe: str, clip: str, frames: int, sides: tuple[NDArray[np.float32], NDArray[np.float32]]
) -> FramesRow:
    """Return the row of a clip whose kept frames are ``sides``, reference first, each ``(kept, dimensions)``.

    Both are stored with one scale, the smallest that keeps the largest number; numbers below :data:`LARGEST` are
    expected.
    """
    largest = max(float(np.abs(side).max(initial=0.0)) for side in sides)
    # numbers below 2^15, half of what half floats hold
    exponent = max(math.frexp(largest)[1] - 15, -60) if largest else 0
    scale = 2.0**exponent
    reference, resynthesis = ((side.astype(np.float64) / scale).astype("<f2").tobytes() for side in sides)
    return FramesRow(
        dataset=dataset,
        probe=probe,
        clip=clip,
        frames=frames,
        dimensions=sides[0].shape[1],
        scale=scale,
        reference=reference,
        resynthesis=resynthesis,
    )


def vector_schema() -> pa.Schema:
    """Arrow schema of the table."""
    import pyarrow as pa

    return pa.schema([pa.field(name, pa.type_for_alias(kind), nullable=False) for name, kind in FIXED.items()])


def write_vectors(out: Path | BinaryIO, rows: Iterable[FramesRow]) -> int:
    """Write rows in the order given; return their number. The same rows give the same bytes.

    A path is replaced in one step, or not at all. Raises ClipTableError for what :func:`read_vectors` would refuse.
    """
    if not isinstance(out, Path):
        return _write(out, rows)
    # Imported here: the service reads tables but is installed without the packages of data_manifests.
    from codec_superb.data_manifests.files import replacing

    with replacing(out, sync=False) as temporary, temporary.open("wb") as file:
        return _write(file, rows)


def _write(out: BinaryIO, rows: Iterable[FramesRow]) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, count, pending = vector_schema(), 0, iter(rows)
    with pq.ParquetWriter(
        out, schema, compression="none", use_dictionary=list(_STRINGS), store_schema=False, write_statistics=False
    ) as writer:
        writer.add_key_value_metadata({FORMAT_KEY: FORMAT.encode()})
        while block := list(islice(pending, ROW_GROUP)):
            for row in block:
                _check(row, f"frames of {row.clip[:40]!r} of {row.dataset[:40]!r}")
            columns = {name: [getattr(row, name) for row in block] for name in FIXED}
            writer.write_table(pa.Table.from_pydict(columns, schema=schema), row_group_size=ROW_GROUP)
            count += len(block)
    return count


def read_vectors(
    source: Path | BinaryIO, *, name: str | None = None, max_rows: int | None = MAX_CLIPS
) -> tuple[FramesRow, ...]:
    """Read all rows of ``source`` (a path, or a seekable binary file) in file order, strictly.

    ``name`` is what errors call the file. Raises ClipTableError saying what was expected and what came: not Parquet,
    another format or layout, compressed pages, more than ``max_rows`` rows, text beyond the limit, a probe that keeps
    no frames, sizes that do not agree, a scale that is no power of two, numbers that are not finite.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = name or (source.name if isinstance(source, Path) else "vectors.parquet")
    rows = check_pages(source, name)
    if max_rows is not None and rows > max_rows:
        raise ClipTableError(f"{name}: expected at most {max_rows} rows, got {rows}")
    try:
        # Arrow's pre-buffering starts threads, and the service forks in the process that reads.
        with pq.ParquetFile(source, read_dictionary=list(_STRINGS), pre_buffer=False) as file:
            check_format(file.metadata.metadata, FORMAT_KEY, FORMAT, name)
            plain = [f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f for f in file.schema_arrow]
            check_columns(pa.schema(plain), vector_schema(), name)
            batches = file.iter_batches(batch_size=ROW_GROUP, use_threads=False)
            found = tuple(row for batch in batches for row in _rows(batch, name))
            declared = file.metadata.num_rows
    except (pa.ArrowException, OSError, ValueError) as error:  # ValueError: text that is not UTF-8
        raise ClipTableError(f"{name}: expected a Parquet file of frames: {error}") from error
    if len(found) != declared:
        raise ClipTableError(f"{name}: expected {declared} rows, as its footer says; got {len(found)}")
    return found


def _rows(batch: pa.RecordBatch, name: str) -> Iterator[FramesRow]:
    check_text(batch, dict.fromkeys(_STRINGS, ID_LIMIT), name)
    for column in FIXED:
        if batch.column(column).null_count:
            raise ClipTableError(f"{name}: expected no null in {column}")
    for values in zip(*(batch.column(column).to_pylist() for column in FIXED), strict=True):
        # checked below, more closely than by types
        row = FramesRow.model_construct(set(FIXED), **dict(zip(FIXED, values, strict=True)))
        _check(row, f"{name}: {row.clip[:40]!r} of {row.dataset[:40]!r}")
        yield row


def _check(row: FramesRow, where: str) -> None:
    """Refuse a row whose numbers cannot be frames."""
    keeping = sorted(key for key, probe in PROBES.items() if probe.pairs == "frames")
    if row.probe not in keeping:
        raise ClipTableError(f"{where}: expected one of the probes {keeping}, got {row.probe[:40]!r}")
    if any(len(getattr(row, name)) > ID_LIMIT for name in _STRINGS):
        raise ClipTableError(f"{where}: expected at most {ID_LIMIT} characters in {', '.join(_STRINGS)}")
    if not 1 <= row.dimensions <= MOST_DIMENSIONS:
        raise ClipTableError(f"{where}: expected frames of 1 to {MOST_DIMENSIONS} numbers, got {row.dimensions}")
    size = len(row.reference)
    if size != len(row.resynthesis) or size % (2 * row.dimensions) or not 1 <= row.kept <= row.frames:
        got = f"{size} and {len(row.resynthesis)} bytes for {row.frames} frames of {row.dimensions} numbers"
        raise ClipTableError(f"{where}: expected as many whole frames on both sides, at least one, got {got}")
    # frexp gives exactly one half for a power of two, and NaN for NaN
    if not _SCALES[0] <= row.scale <= _SCALES[1] or math.frexp(row.scale)[0] != 0.5:  # noqa: PLR2004
        raise ClipTableError(f"{where}: expected a power of two from 2^-60 to 2^24 as scale, got {row.scale!r}")
    for side in _SIDES:
        if not np.isfinite(np.frombuffer(getattr(row, side), "<f2")).all():
            raise ClipTableError(f"{where}: expected finite numbers in {side}")
