"""WebDataset shards whose samples the manifest describes.

Options beside those of :mod:`codec_superb.data_manifests.indexers.described`, whose columns are the fields of a
sample's JSON: ``files`` (the shards relative to the dataset's folder, ``{00..17}`` standing for numbers, ``*`` for what
is there), ``inner`` (folders that it may lie in), ``fields`` (of the JSON, the first that is there is the column
``_text``, a list where it holds several). ``_key`` is a sample's key, ``_shard`` the name of its shard without
suffixes, ``_folder`` the folder that the shard lies in.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from codec_superb.data_manifests.audio.audio_file import read_audio
from codec_superb.data_manifests.audio.quantise import quantise_24_bits
from codec_superb.data_manifests.audio.samples import Samples
from codec_superb.data_manifests.audio.store import AudioStore
from codec_superb.data_manifests.audio.webdataset import Entry, ShardReport, read_entries, shards_below, texts_of
from codec_superb.data_manifests.errors import AudioFileError, LayoutError
from codec_superb.data_manifests.indexers.described import (
    Row,
    described_id,
    described_labels,
    described_row,
    option,
)
from codec_superb.data_manifests.indexers.listing import FoundClip, IndexRequest, Listing

_BY_FFMPEG = frozenset({".m4a", ".aac", ".wma"})
"""What libsndfile does not read."""
_ID = "{_shard}/{_key}"


def find(request: IndexRequest) -> Listing:
    """Store the sound of each sample and list it with its labels; samples that cannot be used are missing and named.

    Raises LayoutError where a shard is not there, or a sample lacks a field that the manifest cannot do without.
    """
    listing, report = Listing(request.store, stored=True), ShardReport()
    base, shards = _shards(request)
    with AudioStore(request.store) as store:
        for shard in shards:
            name, folder = shard.name.split(".", 1)[0], shard.parent.relative_to(base).as_posix()
            for entry in read_entries(shard, report):
                texts = texts_of(entry, option(request, "fields"), report)
                if not texts:
                    continue
                place: Row = {"_key": entry.key, "_shard": name, "_folder": folder, "_text": texts}
                _take(request, listing, store, entry, {**entry.fields, **place}, report)
    listing.notes += [f"{count} times {kind}" for kind, count in report.faults.most_common()] + report.examples
    listing.missing += [example.partition(": ")[0] for example in report.examples]
    listing.missing += ["(further ones)"] * (report.faults.total() - len(report.examples))
    return listing


def _shards(request: IndexRequest) -> tuple[Path, list[Path]]:
    patterns = option(request, "files")
    folders = [request.root, *(request.root / name for name in option(request, "inner"))]
    sets = [(folder, [shards_below(folder, pattern) for pattern in patterns]) for folder in folders]
    base, parts = max(sets, key=lambda each: sum(len(found) for found, _ in each[1]))
    missing = [file for _, lacking in parts for file in lacking]
    if missing:
        there = sum(len(found) for found, _ in parts)
        raise LayoutError(
            f"{missing[0]}: expected a shard, found none ({len(missing)} are missing, {there} are there); "
            "fetch all of them, or name their folder"
        )
    return base, [file for found, _ in parts for file in found]


def _take(
    request: IndexRequest, listing: Listing, store: AudioStore, entry: Entry, known: Row, report: ShardReport
) -> None:
    row = described_row(request, known, entry.place)
    if row is None:
        return
    name = described_id(request, row, entry.place, _ID)
    try:
        if entry.suffix in _BY_FFMPEG:
            path = store.put_samples(name, entry.place, lambda: _decoded(entry))
        else:
            path = store.put(name, entry.audio, entry.place)
    except AudioFileError as error:
        report.note("a sound that cannot be read", entry.place, str(error).removeprefix(f"{entry.place} "))
        return
    listing.found.append(FoundClip(name, path, described_labels(request, row, entry.place)))


def _decoded(entry: Entry) -> Samples:
    with tempfile.NamedTemporaryFile(suffix=entry.suffix) as file:
        file.write(entry.audio)
        file.flush()
        audio, rate = read_audio(Path(file.name))
    return quantise_24_bits(audio, rate)
