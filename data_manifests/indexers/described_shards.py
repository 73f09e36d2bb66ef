"""WebDataset shards whose samples the manifest describes.

Options beside those of :mod:`codec_superb.data_manifests.indexers.described`, whose columns are the fields of a
sample's JSON: ``files`` (the shards relative to the dataset's folder, ``{00..17}`` standing for numbers, ``*`` for what
is there), ``inner`` (folders that it may lie in), ``fields`` (of the JSON, the first that is there is the column
``_text``, a list where it holds several). ``_key`` is a sample's key, ``_shard`` the name of its shard without
suffixes, ``_folder`` the folder that the shard lies in. Shards in a store, which must be plain ``.tar``, are read once
for the list; their sound stays there, and a clip is read by a range request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from codec_superb.data_manifests.audio.store import AudioStore
from codec_superb.data_manifests.audio.webdataset import (
    Entry,
    Shard,
    ShardReport,
    expand,
    read_entries,
    shards_below,
    texts_of,
)
from codec_superb.data_manifests.errors import AudioFileError, LayoutError
from codec_superb.data_manifests.indexers.described import (
    Row,
    described_id,
    described_labels,
    described_row,
    option,
)
from codec_superb.data_manifests.indexers.listing import FoundClip, IndexRequest, Listing, Part
from codec_superb.data_manifests.objects.object_file import in_order
from codec_superb.data_manifests.objects.published import KeptClip, fitting, objects_below
from codec_superb.data_manifests.objects.sound import BY_FFMPEG, StoredSound, decode_published, measure
from codec_superb.data_manifests.objects.stores import Found

_ID = "{_shard}/{_key}"


def find(request: IndexRequest) -> Listing:
    """Store the sound of each sample and list it with its labels; samples that cannot be used are missing and named.

    Raises LayoutError where a shard is not there, or a sample lacks a field that the manifest cannot do without.
    """
    listing, report = Listing(request.store, stored=True), ShardReport()
    base, shards = _shards(request)
    with AudioStore(request.store) as store:
        for shard in shards:
            for name, entry, row in _rows(request, shard, shard.parent.relative_to(base).as_posix(), report):
                try:
                    path = _stored(store, name, entry)
                except AudioFileError as error:
                    _note(report, entry, error)
                    continue
                listing.found.append(FoundClip(name, path, described_labels(request, row, entry.place)))
    listing.notes += report.lines()
    listing.missing += report.places()
    return listing


def parts(request: IndexRequest) -> Iterator[Part]:
    """Yield the shards below the request's URL. Raises LayoutError where one is not there."""
    for folder, found in _streamed_shards(request):
        yield Part(f"{found} {folder}", found.name, partial(_read_part, request, folder, found))


def _read_part(request: IndexRequest, folder: str, found: Found, report: ShardReport) -> Iterator[FoundClip]:
    with in_order(found) as file:
        for name, entry, row in _rows(request, Shard(found.name, file), folder, report):
            sound = StoredSound(
                found.url, len(entry.audio), found.version, entry.start, suffix=entry.suffix, stored=True
            )
            try:
                kept = KeptClip(sound, measure(entry.audio, sound.suffix, entry.place))
            except AudioFileError as error:
                _note(report, entry, error)
                continue
            yield FoundClip(name, Path(f"{name}.flac"), described_labels(request, row, entry.place), kept=kept)


def _rows(
    request: IndexRequest, shard: Path | Shard, folder: str, report: ShardReport
) -> Iterator[tuple[str, Entry, Row]]:
    """Yield clip id, sample and columns of what is kept of a shard."""
    for entry in read_entries(shard, report):
        if texts := texts_of(entry, option(request, "fields"), report):
            place: Row = {"_key": entry.key, "_shard": shard.name.split(".", 1)[0], "_folder": folder, "_text": texts}
            row = described_row(request, {**entry.fields, **place}, entry.place)
            if row is not None:
                yield described_id(request, row, entry.place, _ID), entry, row


def _streamed_shards(request: IndexRequest) -> list[tuple[str, Found]]:
    """Return the shards below the URL, with the folder that each lies in."""
    there = objects_below(request.url)
    bases = [request.url, *(f"{request.url}/{name}" for name in option(request, "inner"))]
    names = [name for pattern in option(request, "files") for name in expand(pattern)]
    # shards that were unpacked from .tar.gz are known by its name
    sets = [
        (base, [(name, fitting(there, base, name) or fitting(there, base, name.removesuffix(".gz"))) for name in names])
        for base in bases
    ]
    base, parts = max(sets, key=lambda each: sum(len(found) for _, found in each[1]))
    _refuse_missing([f"{base}/{name}" for name, found in parts if not found], sum(len(found) for _, found in parts))
    shards = [each for _, found in parts for each in found]
    if packed := [each.url for each in shards if not each.name.endswith(".tar")]:
        raise LayoutError(
            f"{packed[0]} is compressed ({len(packed)} of {len(shards)} shards are), and parts of it cannot be read: "
            "store plain .tar (gunzip), or fetch the shards and name their folder"
        )
    return [(each.url[len(base) + 1 :].rpartition("/")[0] or ".", each) for each in shards]


def _shards(request: IndexRequest) -> tuple[Path, list[Path]]:
    patterns = option(request, "files")
    folders = [request.root, *(request.root / name for name in option(request, "inner"))]
    sets = [(folder, [shards_below(folder, pattern) for pattern in patterns]) for folder in folders]
    base, parts = max(sets, key=lambda each: sum(len(found) for found, _ in each[1]))
    _refuse_missing([str(file) for _, lacking in parts for file in lacking], sum(len(found) for found, _ in parts))
    return base, [file for found, _ in parts for file in found]


def _refuse_missing(missing: Sequence[str], there: int) -> None:
    if missing:
        raise LayoutError(
            f"{missing[0]}: expected a shard, found none ({len(missing)} are missing, {there} are there); "
            "fetch all of them, or name their folder"
        )


def _stored(store: AudioStore, name: str, entry: Entry) -> Path:
    if entry.suffix in BY_FFMPEG:
        return store.put_samples(name, entry.place, lambda: decode_published(entry.audio, entry.suffix, entry.place))
    return store.put(name, entry.audio, entry.place)


def _note(report: ShardReport, entry: Entry, error: AudioFileError) -> None:
    report.note("a sound that cannot be read", entry.place, str(error).removeprefix(f"{entry.place} "))
