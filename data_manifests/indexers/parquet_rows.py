"""Read the publishers' Parquet tables by the names of their columns; every error names the file and the row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from codec_superb.data_manifests.indexers.listing import Listing
from codec_superb.data_manifests.indexers.svq.tables import check_columns, open_parquet
from codec_superb.data_manifests.objects.object_file import open_table
from codec_superb.data_manifests.objects.stores import Found

_ROWS_AT_ONCE = 16
"""Rows with audio; a batch of 5 s at 48 kHz stays below 10 MB."""
_SHARD = re.compile(r"-(\d{5})-of-(\d{5})\.parquet$")


def shards_of(folder: Path, split: str, listing: Listing) -> list[Path]:
    """Return the shards ``<split>-NNNNN-of-NNNNN.parquet`` of a folder; those that are not there are a note."""
    paths = sorted(path for path in folder.glob(f"{split}-*.parquet") if _SHARD.search(path.name))
    numbers = [(int(match[1]), int(match[2])) for path in paths if (match := _SHARD.search(path.name))]
    count = max((last for _, last in numbers), default=0)
    if absent := sorted(set(range(count)) - {number for number, _ in numbers}):
        listing.notes.append(f"shards of {split} are not there: {', '.join(map(str, absent))} of 0 to {count - 1}")
    return paths


def read_parquet(path: Path | Found, columns: tuple[str, ...], more: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield place and row of a file, a few rows at a time; ``more`` are columns that it need not have.

    Raises LayoutError for a file that is no Parquet or lacks one of ``columns``.
    """
    file = open_parquet(path) if isinstance(path, Path) else open_table(path)
    place = str(path) if isinstance(path, Path) else path.url
    check_columns(file.schema_arrow.names, columns, place)
    wanted = [name for name in file.schema_arrow.names if name in {*columns, *more}]
    number = 0
    for batch in file.iter_batches(_ROWS_AT_ONCE, columns=wanted):
        for row in batch.to_pylist():
            number += 1
            yield f"{place}, row {number}", row
