"""Parquet tables that hold the sound itself, with columns that the manifest describes.

Options beside those of :mod:`codec_superb.data_manifests.indexers.described`: ``files`` (shell patterns of the tables,
relative to the dataset's folder), ``inner`` (folders that it may lie in), ``audio`` (column of the sound, ``audio`` by
default). The column ``_split`` is a table's name before ``-NNNNN-of-NNNNN``, ``_row`` a row's number in its split, and
``_path`` the name that the sound's own cell gives, where it gives one. Tables in a store are read once for the list;
their sound stays there, and a clip is read with the row group that holds it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from codec_superb.data_manifests.audio.cells import audio_bytes
from codec_superb.data_manifests.audio.store import AudioStore
from codec_superb.data_manifests.audio.webdataset import ShardReport
from codec_superb.data_manifests.errors import AudioFileError, LayoutError
from codec_superb.data_manifests.indexers.described import (
    Row,
    columns_of,
    described_id,
    described_labels,
    described_row,
    option,
)
from codec_superb.data_manifests.indexers.listing import FoundClip, IndexRequest, Listing, Part, locate
from codec_superb.data_manifests.indexers.parquet_rows import read_parquet, shards_of
from codec_superb.data_manifests.indexers.svq.tables import open_parquet
from codec_superb.data_manifests.objects.object_file import open_table
from codec_superb.data_manifests.objects.published import KeptClip, fitting, objects_below
from codec_superb.data_manifests.objects.sound import StoredSound, measure
from codec_superb.data_manifests.objects.stores import Found


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
            for _, where, name, row in _described(request, path, rows[_split(path.name)]):
                try:
                    stored = store.put(name, audio_bytes(row[_audio(request)], where), where)
                except AudioFileError as error:
                    _miss(listing, name, error)
                    continue
                listing.found.append(FoundClip(name, stored, described_labels(request, row, where)))
            rows[_split(path.name)] += open_parquet(path).metadata.num_rows
    return listing


def parts(request: IndexRequest) -> Iterator[Part]:
    """Yield the tables below the request's URL. Raises LayoutError where there is none, or one is no table."""
    rows: Counter[str] = Counter()
    for found in _streamed_tables(request):
        before = rows[_split(found.name)]
        yield Part(f"{found} {before}", found.name, partial(_read_part, request, found, before))
        rows[_split(found.name)] += open_table(found).metadata.num_rows


def _read_part(request: IndexRequest, found: Found, before: int, report: ShardReport) -> Iterator[FoundClip]:
    for number, where, name, row in _described(request, found, before):
        sound = StoredSound(found.url, found.size, found.version, row=number, column=_audio(request), stored=True)
        try:
            kept = KeptClip(sound, measure(audio_bytes(row[_audio(request)], where), "", where))
        except AudioFileError as error:
            report.note("a sound that cannot be read", name, str(error))
            continue
        yield FoundClip(name, Path(f"{name}.flac"), described_labels(request, row, where), kept=kept)


def _described(request: IndexRequest, table: Path | Found, before: int) -> Iterator[tuple[int, str, str, Row]]:
    """Yield number from 0, place, clip id and columns of what is kept of a table, behind ``before`` of its split."""
    split = _split(table.name)
    for number, (where, cells) in enumerate(read_parquet(table, _columns(request))):
        known = {**cells, "_split": split, "_row": before + number + 1, "_path": _path(cells[_audio(request)])}
        row = described_row(request, known, where)
        if row is not None:
            yield number, where, described_id(request, row, where, "{_split}/{_row}"), row


def _split(name: str) -> str:
    return name.split("-", 1)[0].removesuffix(".parquet")


def _streamed_tables(request: IndexRequest) -> list[Found]:
    there, patterns = objects_below(request.url), option(request, "files")
    for base in (request.url, *(f"{request.url}/{name}" for name in option(request, "inner"))):
        found = sorted({each for pattern in patterns for each in fitting(there, base, pattern)})
        if found:
            return found
    raise LayoutError(f"{request.url}: expected tables {' or '.join(patterns)}, found none among {len(there)} objects")


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


def _miss(listing: Listing, name: str, error: AudioFileError) -> None:
    listing.missing.append(name)
    listing.notes.append(str(error))
