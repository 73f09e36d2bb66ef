"""Read clip blocks, the rows of one submission on one dataset as Parquet (decision 8), restricted to needed columns."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.table import METRICS
from codec_superb.pipeline.tables.clips import ClipTable, format_of, metric_keys
from codec_superb.pipeline.tables.columns import probe_keys
from codec_superb.pipeline.tables.rows import ClipRow

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Columns:
    """Some metrics of one block as arrays, without building a row for each clip."""

    clips: tuple[str, ...]
    categories: tuple[str, ...]
    values: dict[str, Values]
    """One value per clip, by metric key; NaN where the metric is undefined, failed, or the clip has no resynthesis."""
    clusters: tuple[str, ...]
    """Cluster of each clip; '' where none is known."""


def block_rows(data: bytes, name: str) -> list[ClipRow]:
    """Read all rows; ``name`` identifies the block in errors. Raises ClipTableError for an invalid block.

    The block was written by this service after the check of the upload, so the limits on foreign files do not apply.
    """
    import pyarrow.parquet as pq

    source = io.BytesIO(data)
    # pre_buffer starts threads of Arrow's own; the block is in memory already
    with pq.ParquetFile(source, pre_buffer=False) as file:
        names, count = file.schema_arrow.names, file.metadata.num_rows
    return list(ClipTable(source, name, metric_keys(names), probe_keys(names), count, format_of(names)))


def block_table(data: bytes) -> Any:
    """Read a whole block as an Arrow table whose texts stay dictionaries, but for the clips' ids.

    A reason of 2,000 characters may stand in each of 200,000 rows, several times: kilobytes that decode to gigabytes.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = io.BytesIO(data)
    texts = [field.name for field in pq.read_schema(source) if pa.types.is_string(field.type) and field.name != "clip"]
    return pq.read_table(io.BytesIO(data), read_dictionary=texts, use_threads=False, pre_buffer=False)


def block_row(data: bytes, clip: str, name: str) -> ClipRow | None:
    """Read the row of one clip; None where the block has none."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = block_table(data)
    out = io.BytesIO()
    pq.write_table(table.filter(pc.equal(table.column("clip"), clip)), out)
    return next(iter(block_rows(out.getvalue(), name)), None)


def block_columns(data: bytes, wanted: Sequence[str]) -> Columns:
    """Read the columns of those metrics of ``wanted`` that the block has."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(io.BytesIO(data), pre_buffer=False) as file:
        keys = [key for key in metric_keys(file.schema_arrow.names) if key in set(wanted)]
        # blocks of earlier formats have no clusters
        others = ["cluster"] if "cluster" in file.schema_arrow.names else []
        table = file.read(columns=["clip", "category", *others, *keys], use_threads=False)
    return Columns(
        clips=tuple(table.column("clip").to_pylist()),
        categories=tuple(table.column("category").to_pylist()),
        values={key: _floats(table.column(key)) for key in keys},
        clusters=tuple(table.column("cluster").to_pylist()) if others else ("",) * table.num_rows,
    )


def category_values(data: bytes, category: str) -> Mapping[str, Values]:
    """Return the defined values of each metric on the clips of ``category``; metrics without one are absent."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    with pq.ParquetFile(io.BytesIO(data), pre_buffer=False) as file:
        keys = [key for key in METRICS if key in file.schema_arrow.names]
        table = file.read(columns=["category", *keys], use_threads=False)
    chosen = table.filter(pc.equal(table["category"], category))
    found = {key: chosen[key].drop_null().to_numpy() for key in keys}
    return {key: values for key, values in found.items() if values.size}


def lengths(data: bytes, clips: Iterable[str]) -> Mapping[str, tuple[int, int]]:
    """Return length in samples and sampling rate in Hz of the references of ``clips``, where both are known."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    with pq.ParquetFile(io.BytesIO(data), pre_buffer=False) as file:
        table = file.read(columns=["clip", "samples", "sampling_rate"], use_threads=False)
    chosen = table.filter(pc.is_in(table["clip"], value_set=pa.array(list(clips), pa.string()))).to_pylist()
    return {
        row["clip"]: (row["samples"], row["sampling_rate"]) for row in chosen if row["samples"] and row["sampling_rate"]
    }


def _floats(column: Any) -> Values:
    """Convert a column to float64; nulls become NaN."""
    # a column with nulls cannot be shared: Arrow copies it, with NaN for null
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
