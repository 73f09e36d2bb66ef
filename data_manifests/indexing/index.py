"""Write the clip list of a dataset from the publisher's own folder or from the Hugging Face hub.

The audio stays where it is; only the list, with the SHA-256 of every file, is written below ``CODEC_SUPERB_HOME``.
Hashing reads all of the audio once (minutes for tens of gigabytes, see
:mod:`codec_superb.data_manifests.indexing.file_facts`); a second call reads only changed files.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from codec_superb.data_manifests.audio.samples import samples_sha256
from codec_superb.data_manifests.catalogue import load_manifest
from codec_superb.data_manifests.clip_list import (
    ClipRecord,
    DatasetIndex,
    check_hash,
    hash_records,
    hash_source,
    to_labels,
    write_clip_list,
)
from codec_superb.data_manifests.clusters import check_slice, slice_of
from codec_superb.data_manifests.collections import open_collection, writing_collections
from codec_superb.data_manifests.errors import DatasetError, LayoutError
from codec_superb.data_manifests.files import locked
from codec_superb.data_manifests.home import datasets_home
from codec_superb.data_manifests.indexers import find_clips
from codec_superb.data_manifests.indexers.listing import FoundClip, IndexRequest, Listing
from codec_superb.data_manifests.indexing.file_facts import FileFacts, read_file_facts
from codec_superb.data_manifests.indexing.index_report import NAMED, IndexReport, other_rates, seconds_of
from codec_superb.data_manifests.indexing.streamed import LINES, index_streamed
from codec_superb.data_manifests.manifest import (
    FilesSource,
    HuggingFaceSource,
    IndexedSource,
    LocalSource,
    Manifest,
    Partition,
    is_wanted,
)
from codec_superb.data_manifests.objects.urls import checked_url, is_url, local_path
from codec_superb.data_manifests.progress import OnProgress, ignore_progress
from codec_superb.data_manifests.trials import write_trials

STORE = "audio"
"""Folder, beside the clip list, of audio that this package cut or decoded."""
FILES = "files"
"""Folder, beside the clip list, of pinned files that were fetched for the indexer."""
_FACTS = "files.json"
_ANY_HASH = "0" * 64


def index(
    name: str, root: str | Path | None, progress: OnProgress | None = None, *, revision: str | None = None
) -> IndexReport:
    """Build and write the clip list of dataset ``name`` from the folder ``root``; return what was found.

    ``root`` is the publisher's folder or the one it was unpacked into, or its URL in a store, where its sound then
    stays; for a dataset of the Hugging Face hub it is a folder of Parquet shards, or None to read the hub at
    ``revision`` (a commit, tag or branch; by default the manifest's). ``progress`` is called with the stages ``cut``
    (audio stored) and ``check`` (files hashed).

    Raises UnknownDataset, LayoutError (what was expected where), ManifestError (an id given twice) and FetchError
    (the hub or a pinned file cannot be read).
    """
    return index_manifest(load_manifest(name), root, progress, revision=revision)


def index_manifest(
    manifest: Manifest, root: str | Path | None, progress: OnProgress | None = None, *, revision: str | None = None
) -> IndexReport:
    """As :func:`index`, for any manifest."""
    name = manifest.name
    folder = datasets_home() / manifest.name
    with locked(datasets_home() / f".{manifest.name}.lock"):
        tell = progress or ignore_progress
        if (url := checked_url(root) if isinstance(root, str) and is_url(root) else "") and not local_path(url):
            return index_streamed(manifest, _streamed(manifest, url), url, folder, tell)
        root = local_path(url) if url else root
        listing = _find(manifest, root, folder, tell, revision)
        listing.found = [clip for clip in listing.found if _in_partition(clip, listing.root, manifest.partition)]
        if not listing.found:
            raise LayoutError(f"{name}: no clip of the partition ({manifest.partition.text}) lies in {listing.root}")
        _check_names(listing)
        for clip in listing.found:
            check_slice(clip.id, slice_of(to_labels(clip.labels), manifest.slice))
        return _write(manifest, listing, folder, tell)


def _find(
    manifest: Manifest, root: str | Path | None, home: Path, progress: OnProgress, revision: str | None
) -> Listing:
    source, store = manifest.source, home / STORE
    folder = None if root is None else _existing(Path(root), manifest)
    if isinstance(source, HuggingFaceSource):
        from codec_superb.data_manifests.hub.huggingface import export

        return export(source, folder, store, revision=revision, progress=progress)
    if isinstance(source, FilesSource) and folder is None:
        from codec_superb.data_manifests.packages.fetch_all import fetch_tree

        folder = home / FILES
        fetch_tree(source.files, folder, progress)
    if not isinstance(source, IndexedSource):
        raise DatasetError(
            f"{manifest.name} is made of package files, not indexed: run codec-superb datasets prepare {manifest.name}"
        )
    if folder is None:
        at = source.url if isinstance(source, LocalSource) else manifest.homepage
        raise LayoutError(f"{manifest.name}: name its folder with --root DIR; it is published at {at}")
    request = IndexRequest(folder, manifest.partition, store, source.options, progress)
    return find_clips(source.layout, request)


def _streamed(manifest: Manifest, url: str) -> IndexedSource:
    if not isinstance(manifest.source, IndexedSource):
        raise LayoutError(
            f"{url}: {manifest.name} is read from a folder of this machine, or fetched: leave the URL out"
        )
    return manifest.source


def _existing(root: Path, manifest: Manifest) -> Path:
    folder = root.expanduser().absolute()
    if not folder.is_dir():
        came = "is no folder" if folder.exists() else "does not exist"
        raise LayoutError(f"{folder} {came}: expected the folder that {manifest.title} was unpacked into")
    return folder


def _in_partition(clip: FoundClip, root: Path, partition: Partition) -> bool:
    path = clip.path.relative_to(root).as_posix()
    excluded = bool(partition.exclude) and is_wanted(path, partition.exclude)
    return is_wanted(path, partition.include) and not excluded


def _check_names(listing: Listing) -> None:
    """Refuse names that a clip list cannot hold, before the long hashing begins."""
    for path in (listing.root, *(clip.path for clip in listing.found)):
        try:
            str(path).encode("utf-8")
        except UnicodeEncodeError as error:
            raise LayoutError(
                f"{str(path)!r} is no UTF-8 name: unpack the archive again with the encoding of its names (unzip -O)"
            ) from error


def _write(manifest: Manifest, listing: Listing, folder: Path, progress: OnProgress) -> IndexReport:
    folder.mkdir(parents=True, exist_ok=True)
    with writing_collections(folder, listing.collections) as collections:
        facts = _facts(listing, folder, progress)
        records = [_record(clip, fact, manifest, listing) for clip, fact in zip(listing.found, facts, strict=True)]
        pinned = manifest.source if isinstance(manifest.source, FilesSource) else None
        if pinned:
            check_hash(manifest.name, pinned.manifest_hash, hash_records(records))
    listing.notes += _other_rates(manifest, listing, facts)
    missing, extra = _counts(manifest, listing)
    wanted = DatasetIndex(
        name=manifest.name,
        manifest_version=manifest.version,
        # relative where it can be: a home folder may be moved
        root=STORE if listing.root == folder / STORE else str(listing.root),
        clips=len(records),
        expected_clips=manifest.expected_clips.count if manifest.expected_clips else None,
        missing=missing,
        extra=extra,
        seconds=_seconds(facts),
        manifest_hash=_ANY_HASH,
        source_hash=hash_source(pinned) if pinned else None,
        collections=collections,
    )
    # Lists of an earlier index may name clips that are not in this one.
    for stale in folder.glob("trials-*.tsv"):
        stale.unlink()
    for name, trials in listing.trials.items():
        write_trials(folder, name, trials)
    written = _write_list(folder, wanted, records)
    return _report(manifest, listing, facts, written, folder)


def _write_list(folder: Path, index: DatasetIndex, records: list[ClipRecord]) -> DatasetIndex:
    if len(records) <= LINES:
        return write_clip_list(folder, index, records)
    from codec_superb.data_manifests.lists.clip_table import write_clip_table

    return write_clip_table(folder, index, sorted(records, key=lambda record: record.id))


def _facts(listing: Listing, folder: Path, progress: OnProgress) -> list[FileFacts]:
    return list(read_file_facts([clip.path for clip in listing.found], folder / _FACTS, progress))


def _place(clip: FoundClip, facts: FileFacts, listing: Listing) -> dict[str, Any]:
    """Return the fields of a clip's record that say where its file is, and what its hash is taken of."""
    # Versions of libFLAC compress differently; the samples are the same.
    sha256 = samples_sha256(clip.path) if listing.stored else facts.sha256
    path = clip.path.relative_to(listing.root).as_posix()
    return {"path": path, "sha256": sha256, "sha256_of": "samples" if listing.stored else "file"}


def _record(clip: FoundClip, facts: FileFacts, manifest: Manifest, listing: Listing) -> ClipRecord:
    return ClipRecord(
        id=clip.id,
        category=clip.category or manifest.categories[0],
        sampling_rate=facts.sampling_rate,
        licence=clip.licence or manifest.licence,
        attribution=clip.attribution or f"{manifest.title} ({manifest.homepage})",
        labels=clip.labels,
        **_place(clip, facts, listing),
    )


def _counts(manifest: Manifest, listing: Listing) -> tuple[int, int]:
    """Return the numbers of missing and extra clips, by the publisher's lists and by the published count."""
    missing, extra = len(listing.missing), len(listing.extra)
    if manifest.expected_clips is not None:
        short = manifest.expected_clips.count - len(listing.found)
        missing, extra = max(missing, short), extra + max(0, -short)
    return missing, extra


def _other_rates(manifest: Manifest, listing: Listing, facts: list[FileFacts]) -> list[str]:
    """Return a note when clips are not at the published rate: a resampled copy gives other scores."""
    published = manifest.sampling_rate
    if published is None:
        return []
    pairs = zip(listing.found, facts, strict=True)
    other = [(clip.id, fact.sampling_rate) for clip, fact in pairs if fact.sampling_rate not in {None, published}]
    if not other:
        return []
    name, rate = other[0]
    return [other_rates(published, len(other), name, rate or 0)]


def _seconds(facts: list[FileFacts]) -> float:
    frames: Counter[int] = Counter()
    for fact in facts:
        frames[fact.sampling_rate or 0] += fact.frames or 0
    return seconds_of(frames)


def _report(
    manifest: Manifest, listing: Listing, facts: list[FileFacts], written: DatasetIndex, folder: Path
) -> IndexReport:
    pairs = list(zip(listing.found, facts, strict=True))
    unlabelled = [clip.id for clip in listing.found if not clip.labelled]
    unreadable = [clip.id for clip, fact in pairs if fact.sampling_rate is None]
    expected = manifest.expected_clips
    return IndexReport(
        name=manifest.name,
        root=listing.root,
        folder=folder,
        clips=written.clips,
        published=expected.count if expected else None,
        published_source=expected.source if expected else None,
        missing=written.missing,
        missing_names=tuple(listing.missing[:NAMED]),
        extra=written.extra,
        extra_names=tuple(listing.extra[:NAMED]),
        unlabelled=len(unlabelled),
        unlabelled_names=tuple(unlabelled[:NAMED]),
        unreadable=len(unreadable),
        unreadable_names=tuple(unreadable[:NAMED]),
        seconds=written.seconds or 0.0,
        trials={name: len(trials) for name, trials in sorted(listing.trials.items())},
        collections={name: len(open_collection(folder, name, sha)) for name, sha in written.collections.items()},
        notes=tuple(listing.notes),
        manifest_hash=written.manifest_hash,
    )
