"""Read ``labels.csv`` at the root of a folder of audio: labels, categories and licences of its clips.

The first line names the columns: ``path``, and any of ``category text language speaker emotion events licence
attribution question choices answers``; every other column becomes an extra label of that name. ``events``, ``choices``
and ``answers`` are separated by ``;``, or a JSON list of texts. ``path`` is relative to the folder, with ``/``, or a
clip id. A file that is not listed is a clip without labels.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from codec_superb.data_manifests.clip import CATEGORIES, Category, Labels
from codec_superb.data_manifests.clip_id import escape_path
from codec_superb.data_manifests.errors import ManifestError
from codec_superb.data_manifests.folders.csv_rows import read_rows

LABELS_FILE = "labels.csv"

_LISTS = ("events", "choices", "answers")
_KNOWN = ("path", "category", "text", "language", "speaker", "emotion", "licence", "attribution", "question", *_LISTS)


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
    for line, cells in read_rows(path):
        clip_id = _find(cells.pop("path"), ids, path, line)
        if clip_id in rows:
            raise ManifestError(f"{path} line {line}, column path: {clip_id} was given before")
        rows[clip_id] = _row(cells, path, line)
    return rows


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
    lists = {name: _list(known.get(name) or "", f"{path} line {line}, column {name}") for name in _LISTS}
    extra = tuple(sorted((name, value) for name, value in cells.items() if name not in _KNOWN and value))
    labels = Labels(
        text=known.get("text"),
        language=known.get("language"),
        speaker=known.get("speaker"),
        emotion=known.get("emotion"),
        extra=extra,
        question=known.get("question"),
        **lists,
    )
    return LabelRow(labels, category, known.get("licence"), known.get("attribution"))


def _list(cell: str, place: str) -> tuple[str, ...]:
    """Return the texts of a cell: separated by ``;``, or a JSON list where texts hold one."""
    if not cell.startswith("["):
        return tuple(part.strip() for part in cell.split(";") if part.strip())
    try:
        found = json.loads(cell)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(each, str) and each for each in found):
        raise ManifestError(f"{place}: expected a JSON list of texts, got {cell[:60]!r}")
    return tuple(found)
