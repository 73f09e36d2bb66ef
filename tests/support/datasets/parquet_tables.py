"""Parquet tables as publishers write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def write_table(path: Path, rows: list[dict[str, Any]], features: dict[str, Any] | None = None) -> Path:
    """Write rows, with the ``features`` that the package ``datasets`` notes in a table."""
    table = pa.Table.from_pylist(rows)
    if features is not None:
        table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)
    return path
