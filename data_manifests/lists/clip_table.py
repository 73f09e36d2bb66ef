"""The clip list in Parquet: ``clips.parquet`` in place of ``clips.jsonl``, for lists that are not held in memory.

Rows are sorted by id, and the footer has the first and last id of each row group: opening a list reads the footer, and
a clip is found by reading the row group that can hold it. Columns are the fields of a
:class:`~codec_superb.data_manifests.clip_list.ClipRecord`; ``labels`` is its JSON, ``sha256`` 32 bytes, and
``object_…`` are the fields of its place in a store, empty where it has none.
"""

from __future__ import annotations

import bisect
import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from pydantic import ValidationError

from codec_superb.data_manifests.clip import Category
from codec_superb.data_manifests.clip_list import (
    CLIPS_FILE,
    TABLE_FILE,
    ClipRecord,
    DatasetIndex,
    ObjectPart,
    canonical_json,
    describe,
    hash_line,
    to_labels,
    write_index,
)
from codec_superb.data_manifests.errors import LayoutError, ManifestError
from codec_superb.data_manifests.files import replacing
from codec_superb.data_manifests.manifest import ManifestLabels
from codec_superb.data_manifests.objects.object_file import open_table
from codec_superb.data_manifests.objects.stores import Found

if TYPE_CHECKING:
    import pyarrow as pa

GROUP_ROWS = 16_384
"""Rows of a row group: what one look-up reads, some megabytes."""
_OBJECT = "object_"
_TEXTS = (
    "path",
    "category",
    "licence",
    "attribution",
    "sha256_of",
    f"{_OBJECT}version",
    f"{_OBJECT}column",
    f"{_OBJECT}suffix",
)
"""Columns of which many rows have the same."""


def table_schema() -> pa.Schema:
    """Return the columns of a list."""
    import pyarrow as pa

    numbers = {"sampling_rate": pa.int32(), "frames": pa.int64()} | {
        f"{_OBJECT}{name}": pa.int64() for name in ("size", "start", "row")
    }
    columns = {"id": pa.string(), **dict.fromkeys(_TEXTS, pa.string()), **numbers}
    return pa.schema([*columns.items(), ("sha256", pa.binary(32)), ("labels", pa.string())])


def write_clip_table(folder: Path, index: DatasetIndex, records: Iterable[ClipRecord]) -> DatasetIndex:
    """Write ``clips.parquet`` and then ``index.json`` into ``folder``; return the index as written.

    ``records`` are sorted by id and taken as they come: memory is that of a row group. Number of clips and hash of
    ``index`` are replaced by theirs. Raises ManifestError where an id is not behind the one before it.
    """
    digest = hashlib.sha256()
    folder.mkdir(parents=True, exist_ok=True)

    def rows() -> Iterator[dict[str, Any]]:
        for record in _in_order(records):
            digest.update(hash_line(record.id, record.sha256, to_labels(record.labels)))
            yield to_row(record)

    count = write_table_rows(folder / TABLE_FILE, rows(), GROUP_ROWS)
    (folder / CLIPS_FILE).unlink(missing_ok=True)
    return write_index(folder, index.model_copy(update={"clips": count, "manifest_hash": digest.hexdigest()}))


def write_table_rows(path: Path, rows: Iterable[dict[str, Any]], group: int) -> int:
    """Replace a table by rows as :func:`to_row` gives them, ``group`` of them in memory; return their number."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, count, left = table_schema(), 0, iter(rows)
    with (
        replacing(path) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd", use_dictionary=list(_TEXTS)) as writer,
    ):
        while held := list(itertools.islice(left, group)):
            writer.write_table(pa.Table.from_pylist(held, schema))
            count += len(held)
    return count


def read_table_rows(path: Path, group: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table, ``group`` of them in memory. Raises ManifestError for a damaged one."""
    with _opened(path) as file:
        for batch in file.iter_batches(group, use_threads=False):
            yield from batch.to_pylist()


class ClipTable:
    """An opened list, below ``folder`` or in a store. One row group is in memory."""

    def __init__(self, place: Path | Found) -> None:
        """Read the footer. Raises ManifestError for what is no clip list."""
        self.place = str(place) if isinstance(place, Path) else place.url
        self._file = _opened(place)
        if missing := set(table_schema().names) - set(self._file.schema_arrow.names):
            raise ManifestError(f"{self.place} is no clip list: it has no columns {', '.join(sorted(missing))}")
        self._first: list[str] = []
        self._starts = [0]
        self._read_footer()
        self._number, self._group = -1, None
        self._categories: dict[str, Category] = {}
        self._headers: dict[str, tuple[int | None, int | None]] = {}

    def __len__(self) -> int:
        """Return the number of clips."""
        return self._starts[-1]

    def ids(self) -> Sequence[str]:
        """All ids, sorted; they are read as they are asked for."""
        return _Ids(self)

    def records(self) -> Iterator[ClipRecord]:
        """Yield all clips, a row group in memory."""
        for number in range(len(self._first)):
            for row in self._rows(number).to_pylist():
                yield self._record(row)

    def record(self, clip_id: str) -> ClipRecord:
        """Return a clip; KeyError when there is none of that id."""
        number = _last_not_behind(self._first, clip_id)
        if number < 0:
            raise KeyError(clip_id)
        rows = self._rows(number)
        place = _last_not_behind(_Column(rows.column("id")), clip_id)
        if place < 0 or rows.column("id")[place].as_py() != clip_id:
            raise KeyError(clip_id)
        return self._record(rows.slice(place, 1).to_pylist()[0])

    def category(self, clip_id: str) -> Category:
        """Return the category of a clip; KeyError as :meth:`record`."""
        if clip_id not in self._categories:
            self._categories = dict(zip(*self._cells(clip_id, "category"), strict=True))
        return self._categories[clip_id]

    def header(self, clip_id: str) -> tuple[int, int] | None:
        """Return rate in Hz and samples per channel, None where one is not stated; KeyError as :meth:`record`."""
        if clip_id not in self._headers:
            ids, rates, frames = self._cells(clip_id, "sampling_rate", "frames")
            self._headers = dict(zip(ids, zip(rates, frames, strict=True), strict=True))
        rate, samples = self._headers[clip_id]
        return (rate, samples) if rate and samples else None

    def iter_ids(self) -> Iterator[str]:
        """Yield all ids, a row group in memory."""
        for number in range(len(self._first)):
            yield from self._file.read_row_group(number, columns=["id"], use_threads=False).column("id").to_pylist()

    def id_at(self, place: int) -> str:
        """Return the id at a place of the list."""
        number = _last_not_behind(self._starts, place)
        return str(self._rows(number).column("id")[place - self._starts[number]])

    def _read_footer(self) -> None:
        metadata = self._file.metadata
        column = self._file.schema_arrow.names.index("id")
        last = ""
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            known = group.column(column).statistics
            if known is None or not known.has_min_max:
                raise ManifestError(f"{self.place}: row group {number} does not state its first and last id")
            if number and known.min <= last:
                raise ManifestError(
                    f"{self.place}: row group {number} begins with {known.min!r}, behind {last!r}: sort by id"
                )
            last = known.max
            self._first.append(known.min)
            self._starts.append(self._starts[-1] + group.num_rows)

    def _cells(self, clip_id: str, *columns: str) -> list[list[Any]]:
        """Return the ids, and the cells of some columns, of the row group that can hold a clip."""
        number = _last_not_behind(self._first, clip_id)
        if number < 0:
            raise KeyError(clip_id)
        rows = self._file.read_row_group(number, columns=["id", *columns], use_threads=False)
        return [rows.column(name).to_pylist() for name in ("id", *columns)]

    def _rows(self, number: int) -> Any:
        if number != self._number:
            self._group = None  # before the next one is read: one is in memory
            self._group = self._file.read_row_group(number, use_threads=False).combine_chunks()
            self._number = number
        return self._group

    def _record(self, row: dict[str, Any]) -> ClipRecord:
        try:
            return to_record(row)
        except (ValidationError, AttributeError) as error:
            reason = describe(error) if isinstance(error, ValidationError) else "an empty cell"
            raise ManifestError(f"{self.place}, clip {row['id']!r}: {reason}") from error


class _Ids(Sequence[str]):
    """The ids of a list."""

    def __init__(self, table: ClipTable) -> None:
        self._table = table

    def __len__(self) -> int:
        return len(self._table)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self._table.id_at(each) for each in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        return self._table.id_at(place % len(self))

    def __iter__(self) -> Iterator[str]:
        return self._table.iter_ids()

    def __contains__(self, clip_id: object) -> bool:
        try:
            self._table.record(str(clip_id))
        except KeyError:
            return False
        return True


class _Column(Sequence[str]):
    """A column of Arrow as a sequence of texts."""

    def __init__(self, column: Any) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, place: Any) -> Any:
        return self._column[place].as_py()


def _last_not_behind(values: Sequence[Any], wanted: Any) -> int:
    return bisect.bisect_right(values, wanted) - 1


def _opened(place: Path | Found) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not isinstance(place, Path):
        try:
            return open_table(place, whole_groups=True)
        except LayoutError as error:
            raise ManifestError(str(error)) from error
    try:
        return pq.ParquetFile(place, memory_map=False)
    except (pa.ArrowException, OSError) as error:
        raise ManifestError(f"{place} is no clip list that can be read: {str(error)[:200]}") from error


def _in_order(records: Iterable[ClipRecord]) -> Iterator[ClipRecord]:
    before: str | None = None
    for record in records:
        if record.id == before:
            raise ManifestError(f"the clip id {record.id!r} is given twice")
        if before is not None and record.id < before:
            raise ManifestError(f"expected clips sorted by id, each id once; got {record.id!r} behind {before!r}")
        before = record.id
        yield record


def to_row(record: ClipRecord) -> dict[str, Any]:
    """Return the cells of a clip."""
    row = record.model_dump(exclude={"object", "labels", "sha256"})
    labels = record.labels.model_dump(exclude_defaults=True)
    place = record.object.model_dump() if record.object else {}
    row |= {f"{_OBJECT}{name}": value for name, value in place.items()}
    return row | {"sha256": bytes.fromhex(record.sha256), "labels": canonical_json(labels).decode() if labels else None}


def to_record(row: dict[str, Any]) -> ClipRecord:
    """Return the clip of a row. Raises ValidationError, AttributeError for an empty cell."""
    known = {name: value for name, value in row.items() if value is not None}
    place = {name.removeprefix(_OBJECT): known.pop(name) for name in list(known) if name.startswith(_OBJECT)}
    labels = known.pop("labels", None)
    return ClipRecord.model_validate(
        known
        | {"sha256": row["sha256"].hex()}
        | ({"object": ObjectPart.model_validate(place)} if place else {})
        | ({"labels": ManifestLabels.model_validate_json(labels)} if labels else {})
    )
