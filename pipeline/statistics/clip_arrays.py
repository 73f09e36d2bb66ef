"""The clips of one dataset and category as arrays, sorted by id: what is summed and compared of many clips."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from codec_superb.pipeline.statistics.jackknife import Floats, Numbers
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.tables.stored_rows import StoredRows

if TYPE_CHECKING:
    import pyarrow as pa

_NUMBERS = (
    "sampling_rate", "samples", "bits", "tokens", "encode_s", "decode_s", "lag_samples", "clipped_samples",
)  # fmt: skip
_TEXTS = ("dataset", "category", "clip", "cluster", "status")
_BLOCK = 4096


@dataclass(frozen=True, slots=True)
class ClipArrays:
    """Columns of clips; ``table`` has texts and numbers of rows, and value and status of metrics."""

    table: pa.Table
    keys: tuple[str, ...]
    """Metrics with columns."""

    def __len__(self) -> int:
        """Return the number of clips."""
        return int(self.table.num_rows)

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Which clips have a resynthesis."""
        import pyarrow.compute as pc

        return np.asarray(pc.equal(self.table["status"], "ok"))

    def number(self, name: str) -> Floats:
        """Return a column of numbers as doubles, NaN where there is none."""
        return np.asarray(self.table[name].cast("double", safe=False).to_numpy(), np.float64)

    def value(self, key: str) -> Floats:
        """Return a metric, NaN where it is undefined, failed or was not computed."""
        if key not in self.keys:
            return np.full(len(self), np.nan)
        return np.where(self.ok, self.number(key), np.nan)

    def values(self, keys: Sequence[str]) -> Floats:
        """Return metrics as an array of shape ``(clips, keys)``."""
        return np.stack([self.value(key) for key in keys], axis=1) if keys else np.zeros((len(self), 0))

    def states(self, key: str) -> dict[str, int]:
        """Count the states of a metric on clips with a resynthesis."""
        import pyarrow.compute as pc

        if key not in self.keys:
            return {}
        counts = pc.value_counts(self.table[f"{key}_status"].filter(self.ok)).to_pylist()
        return {found["values"]: found["counts"] for found in counts if found["values"] is not None}

    @property
    def seconds(self) -> Floats:
        """Duration of each reference, NaN where it is not known."""
        rate = self.number("sampling_rate")
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(rate != 0, self.number("samples") / rate, np.nan)

    def at(self, places: Any) -> ClipArrays:
        """Return the clips at some places, or where a mask is true."""
        import pyarrow as pa

        if places.dtype == bool and places.all():
            return self
        chosen = self.table.filter(pa.array(places)) if places.dtype == bool else self.table.take(pa.array(places))
        return ClipArrays(chosen, self.keys)


def arrays_of(rows: Iterable[ClipRow]) -> dict[tuple[str, str], ClipArrays]:
    """Return the clips of each dataset and category; a clip that has two rows stands twice."""
    import pyarrow.compute as pc

    table, keys = _columns(rows)
    found = {}
    for dataset in table["dataset"].unique().to_pylist():
        own = _where(table, "dataset", dataset)
        for category in own["category"].unique().to_pylist():
            its = _where(own, "category", category)
            ids = its["clip"]
            # mostly they are sorted: rows are copied only where they must be
            if len(ids) > 1 and pc.all(pc.less(ids[:-1], ids[1:])).as_py() is False:
                its = its.take(pc.sort_indices(ids))
            found[dataset, category] = ClipArrays(its, keys)
    return found


def _where(table: pa.Table, column: str, value: str) -> pa.Table:
    import pyarrow.compute as pc

    mask = pc.equal(table[column], value)
    return table if pc.all(mask).as_py() else table.filter(mask)


def repeated(pools: Sequence[ClipArrays]) -> str | None:
    """Return a clip that stands twice in the pools of a dataset; None where each stands once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ids = pa.chunked_array([chunk for pool in pools for chunk in pool.table["clip"].chunks], pa.string())
    if len(pools) > 1:
        ids = ids.take(pc.sort_indices(ids))
    twice = ids[1:].filter(pc.equal(ids[:-1], ids[1:])) if len(ids) > 1 else []
    return twice[0].as_py() if len(twice) else None


def shared(codecs: Sequence[ClipArrays]) -> list[ClipArrays]:
    """Return the clips that every one of ``codecs`` has with a resynthesis, of each the same in the same order."""
    import pyarrow.compute as pc

    own = [codec.at(codec.ok) for codec in codecs]
    if len(own) == 1:
        return own
    ids = own[0].table["clip"]
    for codec in own[1:]:
        ids = ids.filter(pc.is_in(ids, value_set=codec.table["clip"]))
    return [codec.at(np.asarray(pc.index_in(ids, value_set=codec.table["clip"]))) for codec in own]


def cluster_numbers(codecs: Sequence[ClipArrays]) -> Numbers:
    """Return the number of each clip's cluster, from 0 by name, the same clips of each codec in the same order.

    A clip is on its own where no codec's row names its cluster; those come first, in their order.
    """
    columns = [codec.table["cluster"].combine_chunks().dictionary_encode() for codec in codecs]
    names = sorted({name for column in columns for name in column.dictionary.to_pylist()} | {""})
    place = {name: number for number, name in enumerate(names)}
    # a result of an earlier version has no cluster
    ranks = [
        np.array([place[name] for name in column.dictionary.to_pylist()] or [0], np.int64)[np.asarray(column.indices)]
        for column in columns
    ]
    together = np.max(ranks, axis=0)
    alone = together == 0
    numbers = np.empty(len(together), np.int64)
    numbers[alone] = np.arange(int(alone.sum()))
    numbers[~alone] = int(alone.sum()) + np.unique(together[~alone], return_inverse=True)[1].reshape(-1)
    return numbers


def total(values: Floats) -> float | None:
    """Sum, exactly rounded; None when a part is not known: a rate over some clips would be taken for that of all."""
    return None if np.isnan(values).any() else math.fsum(values.tolist())


def _columns(rows: Iterable[ClipRow]) -> tuple[pa.Table, tuple[str, ...]]:
    import pyarrow as pa

    if isinstance(rows, StoredRows):
        names = [*_TEXTS, *_NUMBERS, *(name for key in rows.metrics for name in (key, f"{key}_status"))]
        return rows.table.select(names), rows.metrics
    left, keys, blocks = iter(rows), set[str](), []
    while block := list(islice(left, _BLOCK)):
        keys |= {key for row in block for key in row.metrics}
        blocks.append(_block(block))
    empty = pa.schema([*((name, pa.string()) for name in _TEXTS), *((name, pa.float64()) for name in _NUMBERS)])
    found = pa.concat_tables(blocks, promote_options="default") if blocks else empty.empty_table()
    return found, tuple(sorted(keys))


def _block(rows: Sequence[ClipRow]) -> pa.Table:
    import pyarrow as pa

    keys = sorted({key for row in rows for key in row.metrics})
    columns = {name: pa.array([getattr(row, name) for row in rows], pa.string()) for name in _TEXTS}
    columns |= {name: pa.array([getattr(row, name) for row in rows], pa.float64()) for name in _NUMBERS}
    for key in keys:
        found = [row.metrics.get(key) for row in rows]
        columns[key] = pa.array([one and one.value for one in found], pa.float64())
        columns[f"{key}_status"] = pa.array([one and one.status for one in found], pa.string())
    return pa.table(columns)
