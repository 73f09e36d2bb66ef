"""The tables of shards side by side: their rows in the order of all clips, some thousand at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from codec_superb.pipeline.merging.sets import ShardSet
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.selection import batched
from codec_superb.pipeline.scoring.known import Known
from codec_superb.pipeline.tables.clip_columns import BLOCK
from codec_superb.pipeline.tables.clips import FIXED, clip_schema

if TYPE_CHECKING:
    import pyarrow as pa

_OF_EACH = 64
"""Rows of a block for each shard: below that, looking into every shard costs more than the rows."""


def clips_in_order(shards: ShardSet, clips: Sequence[str]) -> bool:
    """Whether the tables of the shards have these clips, which are sorted, each once and no others."""
    tables = [_Table(folder, ["clip"]) for folder in shards.folders.values()]
    for some in batched(clips, _size(tables)):
        found = [clip for table in tables for part in table.up_to(some[-1]) for clip in part["clip"].to_pylist()]
        if sorted(found) != some:
            return False
    return not any(table.has_more() for table in tables)


def rows_in_order(shards: ShardSet, clips: Sequence[str], metrics: Collection[str]) -> Iterator[pa.Table]:
    """Yield the rows of all shards in the order of ``clips``, with these metrics.

    A clip without a resynthesis has each of them as failed, and one whose category lacks a metric has none, as in a
    run that was never divided.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    tables = [_Table(folder, None) for folder in shards.folders.values()]
    for some in batched(clips, _size(tables)):
        parts = [with_metrics(part, metrics) for table in tables for part in table.up_to(some[-1])]
        found = pa.concat_tables(parts)
        yield found.take(pc.sort_indices(found["clip"]))


def _size(tables: Sequence[_Table]) -> int:
    return max(BLOCK, _OF_EACH * len(tables))


def with_metrics(rows: pa.Table, metrics: Collection[str]) -> pa.Table:
    """Return rows with the columns of these metrics, those that a shard lacks included."""
    import pyarrow as pa

    schema = clip_schema(metrics)
    found = {name: rows[name] for name in rows.column_names}
    if lacking := [key for key in metrics if key not in found]:
        ok = [status == "ok" for status in rows["status"].to_pylist()]
        without = Known(rows.select(list(FIXED)), rows["clip"].to_pylist(), ok, (), {}).table(lacking)
        found |= {name: without[name] for name in without.column_names}
    return pa.Table.from_arrays([found[name] for name in schema.names], schema=schema)


class _Table:
    """The table of a shard, read from its begin to its end, a row group in memory."""

    def __init__(self, folder: RunFolder, columns: Sequence[str] | None) -> None:
        self._groups = folder.row_groups(columns)
        self._rows: pa.Table | None = None
        self._clips: list[str] = []
        self._place = 0

    def up_to(self, clip: str) -> Iterator[pa.Table]:
        """Yield the next rows, up to that of ``clip``, which need not be here."""
        while self.has_more():
            assert self._rows is not None
            end = bisect_right(self._clips, clip, self._place)
            if end > self._place:
                yield self._rows.slice(self._place, end - self._place)
                self._place = end
            if end < len(self._clips):
                return

    def has_more(self) -> bool:
        """Whether there is another row."""
        while self._place == len(self._clips):
            self._rows = next(self._groups, None)
            if self._rows is None:
                return False
            self._clips, self._place = self._rows["clip"].to_pylist(), 0
        return True
