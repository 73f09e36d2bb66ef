"""What a manifest says of a table of clips: which column is the id, the file, and which label.

Datasets that are a table and files, or rows with sound in them, differ in the names of their columns alone. Such a
manifest's options describe a row with templates, in which ``{column}`` stands for a cell and ``{column|filter}`` for
what a filter makes of it (:data:`FILTERS`), ``{column?}`` for one that a row may lack:

``labels``
    ``"text: {sentence}"``: a label and its template. ``events``, ``choices`` and ``answers`` are given once for each
    text (a cell that holds a list gives all of them), ``extra.NAME`` is a label of the dataset's own. An empty one is
    left out.
``id``
    The clip's id; rows with the same id are one clip, whose lists are joined.
``keep``
    ``"split=test"``: rows that have this in that column; several values are separated by ``|``. ``"text!=…"``: the
    others.
``parse``
    ``"name=(?P<speaker>[0-9]+)_.*"``: a regular expression that the whole cell fits; its groups are further columns.
``make``
    ``"class: {crackles}{wheezes}"``: a further column, of cells as they are written.
``codes``
    ``"emotion: 01=neutral, 02=calm"``: what the cells of a column mean; ``*=*`` leaves others as they are.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from codec_superb.data_manifests.clip_id import escape_path
from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.listing import IndexRequest
from codec_superb.data_manifests.indexers.svq.tables import text_of
from codec_superb.data_manifests.manifest import ManifestLabels

Row = dict[str, Any]
FILTERS: Mapping[str, Callable[[str], str]] = {
    "stem": lambda text: PurePosixPath(text).with_suffix("").as_posix(),
    "name": lambda text: PurePosixPath(text).stem,
    "hash": lambda text: hashlib.sha256(text.encode()).hexdigest()[:8],
    "lower": str.lower,
    "spaced": lambda text: " ".join(text.replace("_", " ").split()),
}
"""``stem``: a path without its suffix; ``name``: its last part without it; ``hash``: 8 hex digits of the SHA-256;
``spaced``: with spaces for underscores; besides ``json``: the cell, whatever it holds, as JSON."""
LISTS = ("events", "choices", "answers")
_PLACE = re.compile(r"\{([^{}|?]+)(\??)(?:\|(\w+))?\}")
_OTHERS = "*"


def option(request: IndexRequest, name: str) -> tuple[str, ...]:
    """Return an option of the manifest as texts: () where it is not given."""
    given = request.options.get(name, ())
    return tuple(map(str, given)) if isinstance(given, tuple) else (str(given),)


def columns_of(templates: Iterable[str]) -> tuple[str, ...]:
    """Return the columns that templates cannot do without, each once."""
    places = (match for template in templates for match in _PLACE.finditer(template))
    return tuple(dict.fromkeys(match[1] for match in places if not match[2]))


def fill(template: str, row: Row, where: str) -> str:
    """Return the template with the row's cells. Raises LayoutError for a column that the row lacks."""

    def cell(match: re.Match[str]) -> str:
        if match[1] not in row:
            if match[2]:
                return ""
            raise LayoutError(f"{where}: expected the column {match[1]}, got {', '.join(map(str, row))[:200]}")
        if match[3] == "json":
            return json.dumps(row[match[1]], ensure_ascii=False)
        text = text_of(row[match[1]], where, match[1])
        return FILTERS[match[3]](text) if match[3] else text

    return _PLACE.sub(cell, template).strip()


def described_row(request: IndexRequest, row: Row, where: str) -> Row | None:
    """Return the row with the columns that ``parse`` finds and the meanings of ``codes``; None where it is not kept.

    Raises LayoutError for a cell that does not fit, or that is no code.
    """
    for rule in option(request, "parse"):
        column, _, pattern = rule.partition("=")
        text = fill(f"{{{column}}}", row, where)
        match = re.fullmatch(pattern, text)
        if match is None:
            raise LayoutError(f"{where}: expected {column} to be written like {pattern}, got {text[:80]!r}")
        row = {**row, **match.groupdict()}
    for rule in option(request, "keep"):
        column, _, wanted = rule.partition("=")
        other = column.endswith("!")
        if (fill(f"{{{column.removesuffix('!')}}}", row, where) in wanted.split("|")) is other:
            return None
    for rule in option(request, "make"):
        column, _, template = rule.partition(": ")
        row = {**row, column: fill(template, row, where)}
    for rule in option(request, "codes"):
        column, _, written = rule.partition(": ")
        row = {**row, column: _decoded(column, written, row, where)}
    return row


def _decoded(column: str, written: str, row: Row, where: str) -> str:
    codes = dict(pair.strip().split("=", 1) for pair in written.split(","))
    text = fill(f"{{{column}}}", row, where)
    if text not in codes and _OTHERS not in codes:
        raise LayoutError(f"{where}: expected {column} to be one of {', '.join(codes)}, got {text[:80]!r}")
    return codes.get(text, text)


def described_labels(request: IndexRequest, row: Row, where: str) -> ManifestLabels:
    """Return the labels of a row. Raises LayoutError for a column that it lacks, or a cell that is no text."""
    plain: dict[str, str] = {}
    lists: dict[str, list[str]] = {name: [] for name in LISTS}
    extra: dict[str, str] = {}
    for rule in option(request, "labels"):
        written, _, template = rule.partition(": ")
        label = fill(written, row, where)
        for text in filter(None, _texts(template, row, where)):
            if label in LISTS:
                lists[label].append(text)
            elif label.startswith("extra."):
                extra[label.removeprefix("extra.")] = text
            else:
                plain[label] = text
    return ManifestLabels(**plain, **{name: tuple(dict.fromkeys(texts)) for name, texts in lists.items()}, extra=extra)


def _texts(template: str, row: Row, where: str) -> list[str]:
    match = _PLACE.fullmatch(template)
    cell = row.get(match[1]) if match else None
    if match and isinstance(cell, list) and match[3] != "json":
        return [fill(template, {**row, match[1]: item}, where) for item in cell]
    return [fill(template, row, where)]


def described_id(request: IndexRequest, row: Row, where: str, otherwise: str) -> str:
    """Return the clip's id. Raises LayoutError where the row makes none."""
    text = fill((option(request, "id") or (otherwise,))[0], row, where)
    try:
        return escape_path(text.encode())
    except ValueError as error:
        raise LayoutError(f"{where}: {text[:60]!r} makes no clip id: {error}") from error


def joined(one: ManifestLabels, other: ManifestLabels, where: str) -> ManifestLabels:
    """Return the labels of two rows of one clip. Raises LayoutError where they contradict each other."""
    fields = one.model_dump()
    for name, value in other.model_dump().items():
        if name in LISTS:
            fields[name] = tuple(dict.fromkeys((*fields[name], *value)))
        elif name == "extra":
            fields[name] = {**fields[name], **value}
            _check(name, one.extra, fields[name], where)
        else:
            _check(name, {name: fields[name]} if fields[name] else {}, {name: value or fields[name]}, where)
            fields[name] = fields[name] or value
    return ManifestLabels.model_validate(fields)


def _check(name: str, known: Mapping[str, str], now: Mapping[str, str], where: str) -> None:
    for key, value in known.items():
        if now[key] != value:
            raise LayoutError(f"{where}: the clip was given before, with another {name}: {value[:40]!r}")
