"""A table of texts without sound, CSV or Parquet, as a dataset whose texts a program may speak.

The column ``text`` is needed; ``id`` (otherwise the row's number) and ``language`` are read, and other columns of text
or whole numbers are labels of the table's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from codec_superb.data_manifests.clip import Clip, Labels
from codec_superb.data_manifests.clip_id import escape_path
from codec_superb.data_manifests.collections import Collection
from codec_superb.data_manifests.errors import DatasetError, ManifestError
from codec_superb.data_manifests.files import file_sha256
from codec_superb.data_manifests.folders.csv_rows import read_rows

SUFFIXES = frozenset({".csv", ".parquet"})
_ROWS_AT_ONCE = 1_000
_USUAL = ("id", "text", "language")


class TextTable:
    """The texts of a file; it has the interface of a dataset, and its clips have no sound.

    Raises ManifestError where it cannot be read, lacks the column ``text``, or gives an id twice.
    """

    homepage: str | None = None
    citation: str | None = None
    licence = "not stated"

    def __init__(self, path: Path) -> None:
        self.name = self.title = path.name
        self.manifest_hash = file_sha256(path) if path.is_file() else ""
        self.collections: Mapping[str, str] = {}
        self._clips: dict[str, Clip] = {}
        for number, (where, row) in enumerate(_rows(path), start=1):
            name = row.get("id")
            clip = _clip(path, row, str(number if name is None or name == "" else name), where)  # an id may be 0
            if clip.id in self._clips:
                raise ManifestError(f"{where}: expected another id, got {clip.id!r} twice; leave one of the rows")
            self._clips[clip.id] = clip

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self._clips)

    def clip_ids(self) -> Sequence[str]:
        """All ids, sorted."""
        return sorted(self._clips)

    def clip(self, clip_id: str) -> Clip:
        """Return the text as a clip, whose path is that of the table; KeyError where there is none of that id."""
        return self._clips[clip_id]

    def collection(self, name: str) -> Collection:
        """Raise DatasetError: a table of texts has no collections."""
        raise DatasetError(f"{self.name}: expected a dataset with the collection {name}, got a table of texts")


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if path.suffix == ".csv":
        yield from ((f"{path} line {number}", row) for number, row in read_rows(path, ("text",)))
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            if "text" not in file.schema_arrow.names:
                raise ManifestError(f"{path}: expected a column text, got {', '.join(file.schema_arrow.names)}")
            number = 0
            for batch in file.iter_batches(_ROWS_AT_ONCE):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path} row {number}", row
    except (pa.ArrowException, OSError) as error:
        raise ManifestError(f"cannot read {path}: {error}") from error


def _clip(path: Path, row: Mapping[str, Any], name: str, where: str) -> Clip:
    texts = {column: str(cell).strip() for column, cell in row.items() if isinstance(cell, str | int)}
    extra = tuple(sorted((column, text) for column, text in texts.items() if column not in _USUAL and text))
    labels = Labels(text=texts.get("text") or None, language=texts.get("language") or None, extra=extra)
    try:
        clip_id = escape_path(name.encode())
    except ValueError as error:
        raise ManifestError(f"{where}: {name[:60]!r} makes no id: {error}") from error
    return Clip(clip_id, path.name, "speech", path, TextTable.licence, "", labels=labels)
