"""Prepare a dataset whose clips are cut out of package files: download, decode, cut, store, list.

Valid clips are left alone: a second call reads no audio and does not use the network. Missing and changed clips are
made again. Of two concurrent calls the second waits for the first.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from codec_superb.data_manifests.audio.samples import samples_sha256
from codec_superb.data_manifests.catalogue import load_manifest
from codec_superb.data_manifests.clip_list import (
    ClipRecord,
    DatasetIndex,
    canonical_json,
    hash_records,
    read_index,
    read_records,
    write_clip_list,
)
from codec_superb.data_manifests.errors import AudioFileError, DatasetError, ManifestError
from codec_superb.data_manifests.files import locked
from codec_superb.data_manifests.folders.folder_walk import walk
from codec_superb.data_manifests.hash_cache import HashCache
from codec_superb.data_manifests.home import AUDIO_FOLDER, datasets_home
from codec_superb.data_manifests.manifest import Manifest, PackagesSource
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

    Raises UnknownDataset, FetchError when a package file cannot be fetched, and DatasetError for a dataset that the
    user must provide (the text names the address and the command) or whose audio decodes to another hash.
    """
    return prepare_manifest(load_manifest(name), progress)


def prepare_manifest(manifest: Manifest, progress: OnProgress | None = None) -> PrepareReport:
    """As :func:`prepare`, for any manifest."""
    if not isinstance(manifest.source, PackagesSource):
        raise DatasetError(how_to_get(manifest))
    folder = datasets_home() / manifest.name
    wanted = sum(len(group.clips) for group in manifest.source.groups)
    done = _standing(folder, manifest, manifest.source)
    index = read_index(folder) if len(done) == wanted else None
    if index is None:  # the lock is taken only to write: a shared home folder may be read-only
        with locked(folder.parent / f".{manifest.name}.lock"):
            done = _standing(folder, manifest, manifest.source)
            index = read_index(folder) if len(done) == wanted else None
            index = index or _make(folder, manifest, done, progress or ignore_progress)
    return PrepareReport(
        manifest.name, folder, index.clips, index.seconds or 0.0, wanted - len(done), index.manifest_hash
    )


def how_to_get(manifest: Manifest) -> str:
    """Return one line that says how to get a dataset that is not prepared on this machine."""
    source = manifest.source
    if source.kind == "packages":
        return f"{manifest.title} is not on this machine: run `codec-superb datasets prepare {manifest.name}`"
    if source.kind == "local":
        access = f" ({source.access.rstrip('.')})" if source.access else ""
        return (
            f"{manifest.title} is not on this machine: get it from {source.url}{access}, then run "
            f"`codec-superb datasets index {manifest.name} --root DIR`"
        )
    return (
        f"{manifest.title} is not on this machine: run `codec-superb datasets index {manifest.name}`, which reads "
        f"{source.repo} of the Hugging Face hub"
    )


def _source_hash(source: PackagesSource) -> str:
    return hashlib.sha256(canonical_json(source.model_dump(mode="json", exclude={"manifest_hash"}))).hexdigest()


def _standing(folder: Path, manifest: Manifest, source: PackagesSource) -> dict[str, ClipRecord]:
    """Return the records of the clips that were made from this source and whose files are valid."""
    try:
        index = read_index(folder)
        if index is None or index.source_hash != _source_hash(source) or index.manifest_version != manifest.version:
            return {}
        records = list(read_records(folder))
    except ManifestError:  # a damaged list is rewritten, like a damaged clip
        return {}
    cache = HashCache(folder / HASHES_FILE)
    right = {record.id: record for record in records if _is_right(folder, record, cache)}
    cache.save()
    return right


def _is_right(folder: Path, record: ClipRecord, cache: HashCache) -> bool:
    try:
        return cache.get(record.path, folder / record.path, samples_sha256) == record.sha256
    except (OSError, AudioFileError):
        return False


def _make(folder: Path, manifest: Manifest, done: dict[str, ClipRecord], progress: OnProgress) -> DatasetIndex:
    from codec_superb.data_manifests.packages.package_clips import make_clips

    assert isinstance(manifest.source, PackagesSource)
    records = {**done, **{record.id: record for record in make_clips(folder, manifest.source, set(done), progress)}}
    expected = manifest.source.manifest_hash
    found = hash_records(records.values())
    if expected and found != expected:
        raise DatasetError(
            f"{manifest.name}: expected audio with the hash {expected}, got {found}: scores would not be comparable. "
            "Check the versions of av and soundfile, and report it"
        )
    index = DatasetIndex(
        name=manifest.name,
        manifest_version=manifest.version,
        root=".",
        clips=len(records),
        expected_clips=manifest.expected_clips.count if manifest.expected_clips else None,
        seconds=round(sum(seconds_of(folder / record.path) for record in records.values()), 3),
        manifest_hash=found,
        source_hash=_source_hash(manifest.source),
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
