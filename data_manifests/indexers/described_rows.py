"""Parquet tables that hold the sound itself, with columns that the manifest describes.

Options beside those of :mod:`codec_superb.data_manifests.indexers.described`: ``files`` (shell patterns of the tables,
relative to the dataset's folder), ``inner`` (folders that it may lie in), ``audio`` (column of the sound, ``audio`` by
default). The column ``_split`` is a table's name before ``-NNNNN-of-NNNNN``, ``_row`` a row's number in its split, and
``_path`` the name that the sound's own cell gives, where it gives one.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from codec_superb.data_manifests.audio.store import AudioStore
from codec_superb.data_manifests.errors import AudioFileError
from codec_superb.data_manifests.indexers.described import (
    Row,
    columns_of,
    described_id,
    described_labels,
    described_row,
    option,
)
from codec_superb.data_manifests.indexers.listing import FoundClip, IndexRequest, Listing, locate
from codec_superb.data_manifests.indexers.parquet_rows import audio_bytes, read_parquet, shards_of


def find(request: IndexRequest) -> Listing:
    """Store the sound of each row and list it with its labels.

    Raises LayoutError when no table is there, one lacks a column, or a row makes no sense.
    """
    patterns = option(request, "files")
    base = locate(request.root, patterns, option(request, "inner"))
    listing = Listing(request.store, stored=True)
    rows: Counter[str] = Counter()
    with AudioStore(request.store) as store:
        for path in _tables(base, patterns, listing):
            split = path.name.split("-", 1)[0].removesuffix(".parquet")
            for where, row in read_parquet(path, _columns(request)):
                rows[split] += 1
                known = {**row, "_split": split, "_row": rows[split], "_path": _path(row[_audio(request)])}
                _take(request, listing, store, known, where)
    return listing


def _tables(base: Path, patterns: tuple[str, ...], listing: Listing) -> list[Path]:
    found = sorted({path for pattern in patterns for path in base.glob(pattern)})
    for folder, split in sorted({(path.parent, path.name.split("-", 1)[0]) for path in found if "-of-" in path.name}):
        shards_of(folder, split, listing)
    return found


def _audio(request: IndexRequest) -> str:
    return (option(request, "audio") or ("audio",))[0]


def _columns(request: IndexRequest) -> tuple[str, ...]:
    rules = [rule.partition(": ")[2] for rule in option(request, "labels")]
    named = columns_of([*rules, *option(request, "id")])
    made = {name.split(">")[0] for rule in option(request, "parse") for name in rule.split("(?P<")[1:]}
    parsed = [rule.partition("=")[0] for name in ("parse", "keep") for rule in option(request, name)]
    wanted = (_audio(request), *named, *parsed)
    return tuple(dict.fromkeys(name for name in wanted if name not in made and not name.startswith("_")))


def _path(cell: Any) -> str:
    return str(cell.get("path") or "") if isinstance(cell, dict) else ""


def _take(request: IndexRequest, listing: Listing, store: AudioStore, known: Row, where: str) -> None:
    row = described_row(request, known, where)
    if row is None:
        return
    name = described_id(request, row, where, "{_split}/{_row}")
    try:
        path = store.put(name, audio_bytes(row[_audio(request)], where), where)
    except AudioFileError as error:
        listing.missing.append(name)
        listing.notes.append(str(error))
        return
    listing.found.append(FoundClip(name, path, described_labels(request, row, where)))
