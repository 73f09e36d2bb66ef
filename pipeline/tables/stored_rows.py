"""Rows of clip tables held as columns: some 250 bytes a clip, where a model takes five kilobytes.

They are a sequence of rows, made as they are asked for and forgotten; what sums or compares takes the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from operator import eq
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray

from codec_superb.pipeline.tables.clip_columns import in_row_groups, is_admitted
from codec_superb.pipeline.tables.clips import FIXED, ROW_GROUP, ClipTable, clip_schema, table_of, table_writer
from codec_superb.pipeline.tables.columns import from_columns
from codec_superb.pipeline.tables.rows import ClipRow, MetricValue, ProbeValue

if TYPE_CHECKING:
    import pyarrow as pa


_RECURRING = frozenset({"dataset", "category", "cluster", "slice", "status", "stage", "error_type"})
"""Columns of text in which few words stand."""


class StoredRows(Sequence[ClipRow]):
    """Rows that follow the contract of a clip table."""

    def __init__(self, table: pa.Table, metrics: Collection[str], probes: Collection[str]) -> None:
        """Take a table of the newest layout whose rows have been checked."""
        self.table, self.metrics, self.probes = table, tuple(sorted(metrics)), tuple(sorted(probes))
        self._models: tuple[ClipRow, ...] | None = None

    @classmethod
    def read(cls, table: ClipTable) -> Self:
        """Read and check all rows. Raises ClipTableError, naming the first that does not follow the contract."""
        import pyarrow as pa

        schema = clip_schema(table.metrics, table.probes)
        blocks: list[pa.Table] = []
        for block in table.blocks():
            # columns are checked in a tenth of the time; what they do not admit, and probes, the models judge
            if table.probes or not is_admitted(block, table.metrics):
                for _ in table.rows_of(block, sum(map(len, blocks))):
                    pass
            blocks.append(_newest(block, schema))
        found = pa.concat_tables(blocks) if blocks else schema.empty_table()
        return cls(found, table.metrics, table.probes)

    @classmethod
    def of(cls, rows: Sequence[ClipRow]) -> Self:
        """Take rows as they are. Raises ClipTableError for what no table takes."""
        metrics = {key for row in rows for key in row.metrics}
        probes = {key for row in rows for key in row.probes}
        return cls(table_of(rows, metrics, probes), metrics, probes)

    @classmethod
    def joined(cls, parts: Iterable[Self]) -> Self:
        """Return the rows of all, one behind the other; a metric or a probe that a part lacks has no value there."""
        import pyarrow as pa

        every = list(parts)
        metrics = {key for part in every for key in part.metrics}
        probes = {key for part in every for key in part.probes}
        schema = clip_schema(metrics, probes)
        return cls(pa.concat_tables([_newest(part.table, schema) for part in every]), metrics, probes)

    @classmethod
    def chained(cls, parts: Iterable[Self]) -> Self:
        """Return the rows of parts with the same columns, one behind the other; nothing is copied."""
        import pyarrow as pa

        every = list(parts)
        return cls(pa.concat_tables([part.table for part in every]), every[0].metrics, every[0].probes)

    def slim(self) -> Self:
        """Return the rows in half the memory: without messages and hashes of sound, and words that recur as numbers."""
        import pyarrow as pa

        left_out = {"error", "resynthesis_sha256", *(f"{key}_reason" for key in self.metrics)}

        def column(field: pa.Field) -> Any:
            if field.name in left_out:
                return pa.nulls(len(self))
            found = self.table[field.name]
            return found.dictionary_encode() if field.name in _RECURRING or field.name.endswith("_status") else found

        names = self.table.column_names
        table = pa.table([column(field) for field in self.table.schema], names)
        # a table that was read has a chunk for every 256 rows
        return type(self)(table.combine_chunks(), self.metrics, self.probes)

    def only(self, probes: Collection[str]) -> Self:
        """Return the same rows with these probes alone."""
        kept = [key for key in self.probes if key in probes]
        return type(self)(self.table.select(clip_schema(self.metrics, kept).names), self.metrics, kept)

    def where(self, column: str, values: Collection[str]) -> Self:
        """Return the rows that have one of some values in a column of text."""
        import pyarrow as pa
        import pyarrow.compute as pc

        return self._those(pc.is_in(self.table[column], value_set=pa.array(sorted(values), pa.string())))

    def those(self, mask: NDArray[np.bool_]) -> Self:
        """Return the rows where a mask, shape ``(rows,)``, is true."""
        import pyarrow as pa

        return self._those(pa.array(mask))

    def not_ok(self) -> Self:
        """Return the rows without a resynthesis, or with a metric or a probe that has no value."""
        import pyarrow.compute as pc

        found = pc.not_equal(self.table["status"], "ok")
        for name in (*(f"{key}_status" for key in self.metrics), *(f"{key}.status" for key in self.probes)):
            found = pc.or_(found, pc.fill_null(pc.not_equal(self.table[name], "ok"), fill_value=False))
        return self._those(found)

    def equals(self, column: str, text: str | None) -> NDArray[np.bool_]:
        """Tell which rows have a text in a column, None for nothing, shape ``(rows,)``."""
        import pyarrow.compute as pc

        found = self.table[column]
        return np.asarray(pc.is_null(found) if text is None else pc.fill_null(pc.equal(found, text), fill_value=False))

    def unique(self, column: str) -> list[Any]:
        """Return what stands in a column, each once, in the order in which it comes first."""
        return list(self.table[column].unique().to_pylist())

    def has_repeated_clips(self) -> bool:
        """Whether a clip of a dataset has two rows."""
        # not by group_by: it starts threads, and the service forks in a process that has tried this
        parts = (self.where("dataset", {dataset}) for dataset in self.unique("dataset"))
        return any(len(part.table["clip"].unique()) < len(part) for part in parts)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns of numbers."""
        return tuple(field.name for field in self.table.schema if field.type in {"int64", "double"})

    def by_clip(self) -> Self:
        """Return the same rows, sorted by clip."""
        import pyarrow.compute as pc

        ids = self.table["clip"]
        if pc.all(pc.less_equal(ids[:-1], ids[1:])).as_py() is not False:
            return self
        return self.at(pc.sort_indices(self.table["clip"]))

    def number(self, name: str) -> NDArray[np.float64]:
        """Return a column of numbers as doubles, shape ``(rows,)``, NaN where there is none."""
        return np.asarray(self.table[name].cast("double", safe=False).to_numpy(), np.float64)

    def texts(self, name: str) -> list[Any]:
        """Return a column of text."""
        return list(self.table[name].to_pylist())

    def with_texts(self, change: Callable[[str], str]) -> Self:
        """Return the rows with their messages changed: errors, and reasons of metrics and probes."""
        import pyarrow as pa
        import pyarrow.compute as pc

        reasons = (*(f"{key}_reason" for key in self.metrics), *(f"{key}.reason" for key in self.probes))
        table = self.table
        for name in ("error", *reasons):
            changed = {
                text: new for text in pc.unique(table[name]).to_pylist() if text and (new := change(text)) != text
            }
            if changed:
                texts = pa.array([changed.get(text, text) for text in table[name].to_pylist()], pa.string())
                place = table.schema.get_field_index(name)
                table = table.set_column(place, table.schema.field(place), texts)
        return type(self)(table, self.metrics, self.probes)

    def write(self, out: BinaryIO, *, compression: Literal["none", "zstd"] = "none") -> None:
        """Write a clip table, the bytes that :func:`~codec_superb.pipeline.tables.clips.write_table` writes."""
        with self.writer(out, compression=compression) as writer:
            self.write_into(writer)

    def writer(self, out: BinaryIO, *, compression: Literal["none", "zstd"]) -> AbstractContextManager[Any]:
        """Open a clip table for these rows, and for others with the same columns."""
        return table_writer(out, clip_schema(self.metrics, self.probes), compression=compression)

    def write_into(self, writer: Any) -> None:
        """Write the rows into an open table."""
        for block in in_row_groups([self.table]):
            writer.write_table(block, row_group_size=ROW_GROUP)

    def at(self, places: Any) -> Self:
        """Return the rows at some places."""
        return type(self)(self.table.take(places), self.metrics, self.probes)

    def between(self, first: int, end: int) -> Self:
        """Return the rows from one place to before another."""
        return type(self)(self.table.slice(first, end - first), self.metrics, self.probes)

    def _those(self, mask: Any) -> Self:
        import pyarrow.compute as pc

        if pc.all(mask).as_py() is not False:
            return self  # of a million rows a copy is a quarter of a gigabyte
        return type(self)(self.table.filter(mask), self.metrics, self.probes)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]  # rows are not hashed

    def __iter__(self) -> Iterator[ClipRow]:
        made = chain.from_iterable(map(self._rows, self.table.to_batches(max_chunksize=ROW_GROUP)))
        if not self.probes:
            return made
        # what is computed of probes reads the models five times, and holds them all
        if self._models is None:
            self._models = tuple(made)
        return iter(self._models)

    @overload
    def __getitem__(self, place: int) -> ClipRow: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[ClipRow]: ...
    def __getitem__(self, place: int | slice) -> ClipRow | Sequence[ClipRow]:
        chosen = range(len(self))[place]
        rows = self._rows(self.table.take([chosen] if isinstance(chosen, int) else list(chosen)))
        return next(rows) if isinstance(chosen, int) else tuple(rows)

    def _rows(self, block: pa.Table | pa.RecordBatch) -> Iterator[ClipRow]:
        for record in block.to_pylist():
            probes = {key: found for key in self.probes if (found := from_columns(key, record)) is not None}
            yield _row(record, self.metrics, probes)


def where(rows: Sequence[ClipRow], column: str, values: Collection[str]) -> Sequence[ClipRow]:
    """Return the rows that have one of some values in a column of text."""
    if isinstance(rows, StoredRows):
        return rows.where(column, values)
    return [row for row in rows if getattr(row, column) in values]


def have_probes(rows: Sequence[ClipRow]) -> bool:
    """Whether a row may have a probe."""
    return not isinstance(rows, StoredRows) or bool(rows.probes)


def texts_of(rows: Sequence[ClipRow], column: str) -> list[Any]:
    """Return a column of text of rows."""
    return rows.texts(column) if isinstance(rows, StoredRows) else [getattr(row, column) for row in rows]


def _row(record: dict[str, Any], metrics: Sequence[str], probes: dict[str, ProbeValue]) -> ClipRow:
    """Return a row that was validated before."""
    values = {
        key: MetricValue.model_construct(status=status, value=record[key], reason=record[f"{key}_reason"])
        for key in metrics
        if (status := record[f"{key}_status"]) is not None
    }
    return ClipRow.model_construct(**{name: record[name] for name in FIXED}, metrics=values, probes=probes)


def _newest(block: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a block with the columns of ``schema``: empty texts that an earlier layout lacks, and nulls."""
    import pyarrow as pa

    found = dict(zip(block.column_names, block.columns, strict=True))  # a name of 1,800 is looked for in all of them

    def column(field: pa.Field) -> Any:
        if field.name in found:
            return found[field.name]
        return pa.array([None if field.nullable else ""] * block.num_rows, field.type)

    return pa.Table.from_arrays([column(field).cast(field.type) for field in schema], schema=schema)
