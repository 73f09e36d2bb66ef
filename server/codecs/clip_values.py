"""Values of single clips out of the Parquet blocks: only the columns that are asked for are read."""

from __future__ import annotations

import io
from collections.abc import Mapping

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


def sampling_rate(block: bytes, clip: str) -> int | None:
    """Return the rate in Hz of a clip's reference; None where the block has no such clip, or its rate is not known."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    with pq.ParquetFile(io.BytesIO(block)) as file:
        table = file.read(columns=["clip", "sampling_rate"], use_threads=False)
    rates = table.filter(pc.equal(table["clip"], clip))["sampling_rate"].drop_null().to_pylist()
    return rates[0] if rates else None
