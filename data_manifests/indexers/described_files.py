"""Tables that name files: CSV, TSV, JSON or JSON lines whose columns the manifest describes.

Options beside those of :mod:`codec_superb.data_manifests.indexers.described`: ``table`` (one or several, relative to
the dataset's folder; shell patterns), ``file`` (template of the audio file's path), ``folder`` (where audio that no row
names counts as extra), ``inner`` (folders that the dataset may lie in), ``columns`` (of a table without a first line
that names them), ``delimiter`` (default by the name: a tab for ``.tsv`` and ``.txt``), ``records`` (key of the rows in
a JSON object), ``join`` and ``on`` (a second table, whose columns are added to rows with the same cell), ``category``.
The column ``_table`` is the table's name without its suffix, ``_row`` the row's number. In tables with tabs quotes are
letters, as their publishers write them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from codec_superb.data_manifests.clip import Category
from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.described import (
    Row,
    described_id,
    described_labels,
    described_row,
    fill,
    joined,
    option,
)
from codec_superb.data_manifests.indexers.listing import FoundClip, IndexRequest, Listing, audio_below, locate
from codec_superb.data_manifests.indexers.tables import expect_type, read_json, read_lines, read_rows


@dataclass(slots=True)
class _Joined:
    """The rows of a second table by the cell that they share."""

    column: str
    rows: dict[str, Row]
    lacking: int = 0


def find(request: IndexRequest) -> Listing:
    """List the files that the tables name, with their labels.

    Raises LayoutError when a table is not there, or names the file and line of a row that makes no sense.
    """
    tables = option(request, "table")
    base = locate(request.root, tables[0], option(request, "inner"))
    listing = Listing(base)
    second = _second(request, base)
    clips: dict[str, FoundClip] = {}
    for path in _tables(base, tables, listing):
        for where, row in _rows(request, path, second):
            _take(request, base, clips, row, where)
    for clip in (clips[name] for name in sorted(clips)):
        if clip.path.is_file():
            listing.found.append(clip)
        else:
            listing.missing.append(clip.id)
    if second is not None and second.lacking:
        listing.notes.append(f"{second.lacking} rows are not in {option(request, 'join')[0]} and are left out")
    named = {clip.path for clip in clips.values()}
    for folder in option(request, "folder"):
        listing.extra += [p.relative_to(base).as_posix() for p in audio_below(base / folder) if p not in named]
    return listing


def _tables(base: Path, patterns: tuple[str, ...], listing: Listing) -> Iterator[Path]:
    for pattern in patterns:
        found = sorted(base.glob(pattern))
        if not found:
            listing.notes.append(f"there is no {pattern} in {base}: its labels are missing")
        yield from found


def _second(request: IndexRequest, base: Path) -> _Joined | None:
    names = option(request, "join")
    if not names:
        return None
    (column,) = option(request, "on")
    return _Joined(column, {fill(f"{{{column}}}", row, where): row for where, row in _read(request, base / names[0])})


def _rows(request: IndexRequest, path: Path, second: _Joined | None) -> Iterator[tuple[str, Row]]:
    for number, (where, written) in enumerate(_read(request, path), start=1):
        row = described_row(request, {**written, "_table": path.stem, "_row": number}, where)
        if row is None:
            continue
        if second is not None:
            more = second.rows.get(fill(f"{{{second.column}}}", row, where))
            if more is None:
                second.lacking += 1
                continue
            row = {**more, **row}
        yield where, row


def _read(request: IndexRequest, path: Path) -> Iterator[tuple[str, Row]]:
    if path.suffix == ".json":
        content = read_json(path)
        for key in option(request, "records"):
            content = expect_type(content, dict, path, "the whole").get(key)
        for number, row in enumerate(expect_type(content, list, path, "the list of clips"), start=1):
            yield f"{path}, item {number}", expect_type(row, dict, path, f"item {number}")
    elif path.suffix == ".jsonl":
        for number, line in read_lines(path):
            yield f"{path} line {number}", _object(line, f"{path} line {number}")
    else:
        delimiter = (option(request, "delimiter") or ("\t" if path.suffix in {".tsv", ".txt"} else ",",))[0]
        quoted, header = delimiter == ",", option(request, "columns")
        for number, cells in read_rows(path, (), delimiter=delimiter, header=header, quoted=quoted):
            yield f"{path} line {number}", dict(cells)


def _object(line: str, where: str) -> Row:
    try:
        row = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise LayoutError(f"{where}: no JSON; download the file again") from error
    if not isinstance(row, dict):
        raise LayoutError(f"{where}: expected an object, got {line[:60]!r}")
    return row


def _take(request: IndexRequest, base: Path, clips: dict[str, FoundClip], row: Row, where: str) -> None:
    written = fill(option(request, "file")[0], row, where)
    if not written or Path(written).is_absolute() or ".." in Path(written).parts:
        raise LayoutError(f"{where}: expected a file below the folder, got {written[:80]!r}")
    name = described_id(request, {**row, "_file": written}, where, "{_file|stem}")
    labels = described_labels(request, row, where)
    if name not in clips:
        clips[name] = FoundClip(name, base / written, labels, category=_category(request, row, where))
    elif clips[name].path != base / written:
        raise LayoutError(f"{where}: the clip {name} was given before, of another file; download the table again")
    else:
        clips[name] = replace(clips[name], labels=joined(clips[name].labels, labels, where))


def _category(request: IndexRequest, row: Row, where: str) -> Category | None:
    for template in option(request, "category"):
        named = fill(template, row, where)
        for known in get_args(Category):
            if known == named:
                return known  # type: ignore[no-any-return]
        raise LayoutError(f"{where}: expected one of {', '.join(get_args(Category))}, got {named[:40]!r}")
    return None
