"""Collections: the texts that a task looks things up in (documents, candidates, spans, terms), beside the clip list.

A collection is a table of :class:`CollectionRow`, stored as ``collections/<name>.parquet`` in its dataset's folder and
read as a stream. Its identity is the SHA-256 over one canonical line of JSON per row, in order, which depends
neither on the version of Arrow nor on the file's compression; ``index.json`` holds it, and so does the file, so that
a file of another indexing is noticed when it is opened.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from codec_superb.data_manifests.errors import DatasetError, ManifestError
from codec_superb.data_manifests.files import replacing

COLLECTIONS_FOLDER = "collections"
_BREAKING = frozenset({"Cc", "Zl", "Zp"})
"""Unicode's categories of control characters and of line and paragraph separators."""
MAX_TEXT_BYTES = 2**20
"""Longest id, title or text, in UTF-8."""

NAME = r"^[a-z][a-z0-9_]{0,63}$"
CollectionName = Annotated[str, Field(pattern=NAME)]
"""Name of a collection: also that of its file, and part of a setting's."""

_KEY = b"codec_superb.sha256"
_ROWS_AT_ONCE = 8192
_BYTES_AT_ONCE = 8 * 2**20
"""Rows and text of one row group: what writing and reading hold in memory."""
# RFC 8259 has no NaN; separators and escapes are fixed, since the SHA-256 of a collection is over these bytes
_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)


class CollectionRow(NamedTuple):
    """One row of a collection."""

    id: str
    """Unique in its list."""
    list: str = ""
    """'' for documents, which form one index; otherwise the key that a clip's label names the list by."""
    title: str = ""
    text: str = ""
    start: float | None = None
    """Seconds from the beginning of the clip; None where the row has no time."""
    end: float | None = None
    weight: float | None = None


STRINGS = ("id", "list", "title", "text")
NUMBERS = ("start", "end", "weight")


@dataclass(frozen=True)
class Collection:
    """A stored collection. Properties read a column once and keep it; :meth:`rows` keeps nothing."""

    name: str
    sha256: str
    """Over the rows, see :func:`row_line`."""
    path: Path

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self._file.metadata.num_rows)

    def rows(self) -> Iterator[CollectionRow]:
        """Yield the rows in their order, reading one row group at a time."""
        file = _opened(self.path, self.name)
        for group in range(file.metadata.num_row_groups):
            columns = file.read_row_group(group, columns=list(CollectionRow._fields)).to_pydict()
            yield from map(CollectionRow._make, zip(*(columns[key] for key in CollectionRow._fields), strict=True))

    @cached_property
    def ids(self) -> list[str]:
        """The ids, in the order of rows."""
        return self._column("id")

    @cached_property
    def titles(self) -> list[str]:
        """The titles, '' where none, in the order of rows."""
        return self._column("title")

    @cached_property
    def texts(self) -> list[str]:
        """The texts, in the order of rows."""
        return self._column("text")

    def lists(self) -> Mapping[str, list[CollectionRow]]:
        """Return the rows of each list by its key, both in order; documents are under ''."""
        return self._lists

    def verify(self) -> None:
        """Read and hash all rows. Raises ManifestError when they are not those that were stored."""
        digest = hashlib.sha256()
        for row in self.rows():
            digest.update(row_line(row))
        if digest.hexdigest() != self.sha256:
            raise ManifestError(
                f"{self.path}: expected rows with the SHA-256 {self.sha256}, got {digest.hexdigest()}; "
                "index or prepare the dataset again"
            )

    @cached_property
    def _lists(self) -> dict[str, list[CollectionRow]]:
        lists: dict[str, list[CollectionRow]] = {}
        for row in self.rows():
            lists.setdefault(row.list, []).append(row)
        return lists

    @cached_property
    def _file(self) -> Any:
        return _opened(self.path, self.name)

    def _column(self, name: str) -> list[str]:
        # group by group: the whole column as Arrow holds it would double the memory
        groups = range(self._file.metadata.num_row_groups)
        return [text for group in groups for text in self._file.read_row_group(group, [name])[name].to_pylist()]

    def __reduce__(self) -> tuple[type[Collection], tuple[str, str, Path]]:
        """Travel to another process as a reference, without what was read."""
        return Collection, (self.name, self.sha256, self.path)


def open_collection(folder: Path, name: str, sha256: str) -> Collection:
    """Return the collection ``name`` in the folder of a dataset, whose index says ``sha256``.

    Raises ManifestError when the file is missing, no Parquet, or of another indexing.
    """
    path = collection_path(folder, name)
    stored = stored_sha256(path, name)
    if stored != sha256:
        raise ManifestError(
            f"{path}: expected the collection with the SHA-256 {sha256}, got {stored or 'a file without one'}: "
            "an indexing was interrupted, or the file was replaced; index or prepare the dataset again"
        )
    return Collection(name, sha256, path)


def named_collection(dataset: str, folder: Path, name: str, known: Mapping[str, str]) -> Collection:
    """As :func:`open_collection`, for a dataset whose collections are ``known`` by name and SHA-256.

    Raises DatasetError, naming those that there are, for any other name.
    """
    if name not in known:
        there = ", ".join(sorted(known)) or "none"
        raise DatasetError(
            f"{dataset} has no collection {name!r} (it has: {there}); it comes with indexing the dataset"
        )
    return open_collection(folder, name, known[name])


def collection_path(folder: Path, name: str) -> Path:
    """Return the file of a collection in the folder of its dataset."""
    return folder / COLLECTIONS_FOLDER / f"{name}.parquet"


def stored_sha256(path: Path, name: str) -> str | None:
    """Return the SHA-256 that a stored collection says of its rows; None where it says none. Reads only its end."""
    noted = (_opened(path, name).metadata.metadata or {}).get(_KEY)
    return None if noted is None else noted.decode("ascii", "replace")


def row_line(row: CollectionRow) -> bytes:
    """Return the line of JSON that a row adds to the hash: its seven values in order, UTF-8, numbers as doubles."""
    return _ENCODER.encode(row).encode() + b"\n"


@contextlib.contextmanager
def writing_collections(
    folder: Path, collections: Mapping[str, Iterable[CollectionRow]], sources: Mapping[str, Path] | None = None
) -> Iterator[dict[str, str]]:
    """Write collections to temporary files and yield their SHA-256 by name; they are in place after the body.

    The body does the long work: a bad row is an error before it. When the body raises, the stored collections stay as
    they were. Afterwards ``folder`` holds these collections and no other; the index that names them is written next.
    ``sources`` are the files that the rows come from, for errors.

    Raises ManifestError naming the collection, the row and what is wrong with it.
    """
    with contextlib.ExitStack() as files:
        hashes = {}
        for name, rows in sorted(collections.items()):
            path = collection_path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            hashes[name] = write_rows(
                files.enter_context(replacing(path)), checked(rows, (sources or {}).get(name, f"collection {name}"))
            )
        yield hashes
    kept = {collection_path(folder, name) for name in hashes}
    # stale collections, and temporary files of killed processes: the caller holds the dataset's lock
    for path in set((folder / COLLECTIONS_FOLDER).glob("*")) - kept:
        path.unlink()


def write_rows(path: Path, rows: Iterable[CollectionRow]) -> str:
    """Write rows that were checked to a Parquet file, one row group at a time; return the SHA-256 over them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([pa.field(key, pa.string(), nullable=False) for key in STRINGS]
                       + [pa.field(key, pa.float64()) for key in NUMBERS])  # fmt: skip
    digest = hashlib.sha256()
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        batch: list[CollectionRow] = []
        size = 0
        for row in rows:
            line = row_line(row)
            digest.update(line)
            batch.append(row)
            size += len(line)
            if len(batch) == _ROWS_AT_ONCE or size > _BYTES_AT_ONCE:
                writer.write_table(_table(batch, schema))
                batch, size = [], 0
        if batch:
            writer.write_table(_table(batch, schema))
        writer.add_key_value_metadata({_KEY: digest.hexdigest().encode()})
    return digest.hexdigest()


def checked(rows: Iterable[CollectionRow], of: str | Path) -> Iterator[CollectionRow]:
    """Yield the rows ``of`` a collection or file, with their numbers as doubles.

    Raises ManifestError for the first row that a collection cannot hold: an empty or doubled id, no text, a string
    that is too long or no Unicode, a number that is not finite, an end before its start, or a list that begins twice.
    """
    lists: set[str] = set()
    ids: set[str] = set()
    current: str | None = None
    for number, given in enumerate(rows, start=1):
        where = f"{of}, row {number}"
        row = _checked_row(given, where)
        if row.list != current:
            if row.list in lists:
                raise ManifestError(f"{where}: the list {row.list!r} begins again; put the rows of a list together")
            lists.add(row.list)
            current, ids = row.list, set()
        if row.id in ids:
            inside = f" in the list {row.list!r}" if row.list else ""
            raise ManifestError(f"{where}: the id {row.id!r} is given twice{inside}; give every row its own")
        ids.add(row.id)
        yield row


def _checked_row(row: CollectionRow, where: str) -> CollectionRow:
    for key, value in zip(STRINGS, row, strict=False):
        _check_text(value, key, where)
    if not row.id.strip():
        raise ManifestError(f"{where}: the id is empty; give every row one")
    # a label names several ids with line feeds between them
    if row.id != row.id.strip() or any(unicodedata.category(letter) in _BREAKING for letter in row.id):
        raise ManifestError(
            f"{where}: expected the id on one line, without control characters and spaces around it, got "
            f"{row.id[:60]!r}; correct it"
        )
    # an IDF table maps a token to its weight, and has no other text
    if not row.text.strip() and row.weight is None:
        raise ManifestError(f"{where} ({row.id!r}): the text is empty; write one, or leave the row out")
    start, end, weight = (_number(getattr(row, key), key, f"{where} ({row.id!r})") for key in NUMBERS)
    if (start or 0.0) < 0.0:
        raise ManifestError(f"{where} ({row.id!r}): it starts at {start} s, before its clip; correct it")
    if start is not None and end is not None and end < start:
        raise ManifestError(f"{where} ({row.id!r}): it ends at {end} s, before its start at {start} s; correct one")
    return CollectionRow(row.id, row.list, row.title, row.text, start, end, weight)


def _check_text(value: object, key: str, where: str) -> None:
    if not isinstance(value, str):
        raise ManifestError(f"{where}: expected the {key} to be text, got {str(value)[:60]!r}; write '' for none")
    try:
        size = len(value.encode())
    except UnicodeEncodeError as error:
        raise ManifestError(f"{where}: the {key} is no Unicode text at character {error.start}; correct it") from error
    if size > MAX_TEXT_BYTES:
        raise ManifestError(f"{where}: the {key} has {size} bytes, more than {MAX_TEXT_BYTES}; split or shorten it")


def _number(value: object, key: str, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ManifestError(f"{where}: expected {key} to be a finite number or none, got {value!r}; correct it")
    return float(value)


def _table(rows: list[CollectionRow], schema: Any) -> Any:
    import pyarrow as pa

    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=schema)


def _opened(path: Path, name: str) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except FileNotFoundError as error:
        raise ManifestError(f"{path} is missing: the collection {name}; index or prepare the dataset again") from error
    except (pa.ArrowException, OSError) as error:
        raise ManifestError(f"{path} is no Parquet file; index or prepare the dataset again") from error
    fields = CollectionRow._fields
    if lacking := [key for key in fields if key not in file.schema_arrow.names]:
        raise ManifestError(f"{path}: expected the columns {', '.join(fields)}; lacking: {', '.join(lacking)}")
    return file
