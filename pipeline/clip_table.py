"""``clips.parquet``: the rows of a run as a table, written and read in pieces so that memory does not grow."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codec_superb.pipeline.audio_store import TEMPORARY
from codec_superb.pipeline.rows import ClipRow

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 512
"""Rows held at once."""
TEXT = ("clip", "dataset", "category", "status", "stage", "error_type", "error", "resynthesis_sha256")
INTEGERS = ("sampling_rate", "samples", "bits", "tokens", "lag_samples", "clipped_samples")
NUMBERS = ("encode_s", "decode_s")


def schema(metrics: Sequence[str]) -> pa.Schema:
    """Columns of the table: those of :class:`ClipRow` in its order, then three for each metric."""
    import pyarrow as pa

    kinds = (
        dict.fromkeys(TEXT, pa.string()) | dict.fromkeys(INTEGERS, pa.int64()) | dict.fromkeys(NUMBERS, pa.float64())
    )
    columns = [(name, kinds[name]) for name in ClipRow.model_fields if name != "metrics"]
    for key in metrics:
        columns += [(key, pa.float64()), (f"{key}_status", pa.string()), (f"{key}_reason", pa.string())]
    return pa.schema(columns)


def write_table(path: Path, rows: Iterable[dict[str, Any]], metrics: Sequence[str]) -> None:
    """Write rows, given as JSON dictionaries of :class:`ClipRow`, replacing ``path`` in one step."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    temporary = path.with_name(f"{TEMPORARY}{path.name}-{os.getpid()}")
    try:
        with pq.ParquetWriter(temporary, schema(metrics), compression="zstd") as writer:
            source = iter(rows)
            while batch := list(islice(source, BATCH)):
                flat = [_flatten(row, metrics) for row in batch]
                writer.write_table(pa.Table.from_pylist(flat, schema=schema(metrics)))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read_rows(path: Path) -> Iterator[ClipRow]:
    """Yield the rows of a table in its order."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH):
            for record in batch.to_pylist():
                yield _row(record)


def _flatten(row: dict[str, Any], metrics: Sequence[str]) -> dict[str, Any]:
    """Turn a row into one value a column; a metric that was not computed is null in all three."""
    flat = {name: value for name, value in row.items() if name != "metrics"}
    for key in metrics:
        outcome = row.get("metrics", {}).get(key, {})
        flat[key], flat[f"{key}_status"] = outcome.get("value"), outcome.get("status")
        flat[f"{key}_reason"] = outcome.get("reason", "" if outcome else None)
    return flat


def _row(record: dict[str, Any]) -> ClipRow:
    """Turn one record back into a row."""
    own = {name: record[name] for name in ClipRow.model_fields if name != "metrics"}
    keys = [name.removesuffix("_status") for name in record if name.endswith("_status")]
    metrics = {
        key: {"status": record[f"{key}_status"], "value": record[key], "reason": record[f"{key}_reason"]}
        for key in keys
        if record[f"{key}_status"] is not None
    }
    return ClipRow.model_validate(own | {"metrics": metrics})
