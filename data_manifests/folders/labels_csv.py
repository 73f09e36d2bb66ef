"""Read ``labels.csv`` at the root of a folder of audio: labels, categories and licences of its clips.

The first line names the columns: ``path``, and any of ``category text language speaker emotion events licence
attribution``; every other column becomes an extra label of that name. ``events`` are separated by ``;``. ``path`` is
relative to the folder, with ``/``, or a clip id. A file that is not listed is a clip without labels.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from codec_superb.data_manifests.clip import CATEGORIES, Category, Labels
from codec_superb.data_manifests.clip_id import escape_path
from codec_superb.data_manifests.errors import ManifestError

LABELS_FILE = "labels.csv"

_KNOWN = ("path", "category", "text", "language", "speaker", "emotion", "events", "licence", "attribution")


@dataclass(frozen=True, slots=True)
class LabelRow:
    """The content of one line; an empty cell is None."""

    labels: Labels
    category: Category | None
    licence: str | None
    attribution: str | None


def read_labels(path: Path, ids: frozenset[str]) -> dict[str, LabelRow]:
    """Return the rows of a labels file by clip id; ``ids`` are the clips of the folder.

    Raises ManifestError naming line and column.
    """
    rows: dict[str, LabelRow] = {}
    for line, cells in _read_rows(path):
        clip_id = _find(cells.pop("path"), ids, path, line)
        if clip_id in rows:
            raise ManifestError(f"{path} line {line}, column path: {clip_id} was given before")
        rows[clip_id] = _row(cells, path, line)
    return rows


def _read_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        # utf-8-sig: spreadsheet programs write a byte order mark; newline="" is what the csv module asks for.
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = [name.strip() for name in next(reader, [])]
            _check_header(header, path)
            for cells in reader:
                if cells:
                    _check_width(cells, header, path, reader.line_num)
                    yield reader.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise ManifestError(f"{path} line {reader.line_num}: no CSV: {error}") from error
    except UnicodeDecodeError as error:
        raise ManifestError(f"{path}: expected UTF-8, got byte {error.object[error.start]:#04x}") from error
    except OSError as error:
        raise ManifestError(f"cannot read {path}: {error.strerror or error}") from error


def _check_header(header: list[str], path: Path) -> None:
    if "path" not in header:
        raise ManifestError(f"{path} line 1: expected a column path, got {', '.join(header) or 'an empty file'}")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice or "" in header:
        raise ManifestError(f"{path} line 1: every column needs a name of its own, got {', '.join(header)}")


def _check_width(cells: list[str], header: list[str], path: Path, line: int) -> None:
    if len(cells) != len(header):
        column = header[len(cells)] if len(cells) < len(header) else f"after {header[-1]}"
        raise ManifestError(f"{path} line {line}, column {column}: expected {len(header)} cells, got {len(cells)}")


def _find(written: str, ids: frozenset[str], path: Path, line: int) -> str:
    try:
        escaped = escape_path(written.removeprefix("./").encode())
    except ValueError:
        escaped = ""
    for clip_id in (escaped, written):
        if clip_id in ids:
            return clip_id
    raise ManifestError(f"{path} line {line}, column path: no audio file {written!r} in {path.parent}")


def _row(cells: dict[str, str], path: Path, line: int) -> LabelRow:
    known = {name: cells[name].strip() or None for name in _KNOWN if name in cells}
    category = known.get("category")
    if category is not None and category not in CATEGORIES:
        expected = ", ".join(CATEGORIES)
        raise ManifestError(f"{path} line {line}, column category: expected one of {expected}, got {category!r}")
    events = (known.get("events") or "").split(";")
    extra = tuple(sorted((name, value) for name, value in cells.items() if name not in _KNOWN and value))
    labels = Labels(
        text=known.get("text"),
        language=known.get("language"),
        speaker=known.get("speaker"),
        emotion=known.get("emotion"),
        events=tuple(event.strip() for event in events if event.strip()),
        extra=extra,
    )
    return LabelRow(labels, category, known.get("licence"), known.get("attribution"))
