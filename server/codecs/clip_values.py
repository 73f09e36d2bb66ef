"""Values of single clips out of the Parquet blocks: only the columns that are asked for are read."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.table import METRICS

Values = NDArray[np.float64]


def clip_values(block: bytes, category: str) -> Mapping[str, Values]:
    """Return the defined values of each metric on the clips of ``category``; metrics without one are absent."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    with pq.ParquetFile(io.BytesIO(block)) as file:
        keys = [key for key in METRICS if key in file.schema_arrow.names]
        table = file.read(columns=["category", *keys], use_threads=False)
    chosen = table.filter(pc.equal(table["category"], category))
    found = {key: chosen[key].drop_null().to_numpy() for key in keys}
    return {key: values for key, values in found.items() if values.size}


def lengths(block: bytes, clips: Iterable[str]) -> Mapping[str, tuple[int, int]]:
    """Return length in samples and sampling rate in Hz of the references of ``clips``, where both are known."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    with pq.ParquetFile(io.BytesIO(block)) as file:
        table = file.read(columns=["clip", "samples", "sampling_rate"], use_threads=False)
    chosen = table.filter(pc.is_in(table["clip"], value_set=pa.array(list(clips), pa.string()))).to_pylist()
    return {
        row["clip"]: (row["samples"], row["sampling_rate"]) for row in chosen if row["samples"] and row["sampling_rate"]
    }
