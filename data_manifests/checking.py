"""Verify a dataset on this machine: every clip must be present, unchanged and decodable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from codec_superb.data_manifests.audio.audio_file import AUDIO_SUFFIXES, read_audio
from codec_superb.data_manifests.audio.samples import samples_sha256
from codec_superb.data_manifests.clip_list import ClipRecord
from codec_superb.data_manifests.dataset import open_dataset
from codec_superb.data_manifests.errors import AudioFileError, ManifestError
from codec_superb.data_manifests.files import file_sha256
from codec_superb.data_manifests.folders.folder_dataset import FolderDataset
from codec_superb.data_manifests.folders.folder_walk import walk
from codec_superb.data_manifests.hash_cache import HashCache
from codec_superb.data_manifests.preparation import HASHES_FILE
from codec_superb.data_manifests.progress import OnProgress, ProgressUpdate, ignore_progress
from codec_superb.data_manifests.stored_dataset import StoredDataset


@dataclass(frozen=True, slots=True)
class DatasetCheck:
    """The result of :func:`check`."""

    name: str
    clips: int
    """Clips of the list, or of the folder."""
    expected_clips: int | None
    """Clips of the published dataset, None where the manifest gives no count."""
    missing: tuple[str, ...]
    """Ids of clips whose file is missing."""
    corrupt: tuple[tuple[str, str], ...]
    """Ids of clips, and names of collections, whose file was changed or cannot be read, with the reason."""
    extra: tuple[str, ...]
    """Audio files in the folder of stored clips that belong to no clip."""
    ignored: int
    """Files of a folder that are not audio."""

    @property
    def right(self) -> bool:
        """Whether every clip is there, unchanged and decodable, and their number is the published one."""
        return not self.missing and not self.corrupt and self.expected_clips in {None, self.clips}


def check(name_or_folder: str | Path, progress: OnProgress | None = None) -> DatasetCheck:
    """Read, hash and decode every clip of a dataset, and report missing, changed and extra clips.

    Cached hashes are not used but updated, so that ``prepare`` remakes the wrong clips. Raises what
    :func:`~codec_superb.data_manifests.dataset.open_dataset` raises.
    """
    dataset = open_dataset(name_or_folder)
    tell = progress or ignore_progress
    if isinstance(dataset, FolderDataset):
        return _check_folder(dataset, tell)
    assert isinstance(dataset, StoredDataset)
    return _check_stored(dataset, tell)


def _check_folder(dataset: FolderDataset, tell: OnProgress) -> DatasetCheck:
    wrong = [(clip_id, reason) for clip_id in _counted(dataset, tell) if (reason := _undecodable(dataset, clip_id))]
    return DatasetCheck(dataset.name, len(dataset), None, (), tuple(wrong), (), dataset.ignored)


def _check_stored(dataset: StoredDataset, tell: OnProgress) -> DatasetCheck:
    missing, corrupt = [], []
    cache = HashCache(dataset.folder / HASHES_FILE)
    for clip_id in _counted(dataset, tell):
        record = dataset.record(clip_id)
        if isinstance(dataset.root, Path) and not (dataset.root / record.path).exists():
            missing.append(clip_id)
        elif reason := _changed(dataset, record, cache) or _undecodable(dataset, clip_id):
            corrupt.append((clip_id, reason))
    corrupt += _wrong_collections(dataset)
    if _is_ours(dataset):
        cache.save()
    return DatasetCheck(
        dataset.name,
        len(dataset),
        dataset.index.expected_clips,
        tuple(missing),
        tuple(corrupt),
        _extra(dataset) if _is_ours(dataset) else (),
        0,
    )


def _wrong_collections(dataset: StoredDataset) -> list[tuple[str, str]]:
    wrong = []
    for name in sorted(dataset.collections):
        try:
            dataset.collection(name).verify()
        except ManifestError as error:
            wrong.append((f"collection {name}", str(error)))
    return wrong


def _counted(dataset: FolderDataset | StoredDataset, tell: OnProgress) -> Iterator[str]:
    for number, clip_id in enumerate(dataset.clip_ids(), start=1):
        yield clip_id
        tell(ProgressUpdate("check", number, len(dataset), clip_id))


def _changed(dataset: StoredDataset, record: ClipRecord, cache: HashCache) -> str | None:
    sound = record.sound(dataset.root)
    try:
        found = samples_sha256(sound) if record.sha256_of == "samples" else file_sha256(sound)
        if isinstance(sound, Path):
            cache.set(record.path, sound, found)
    except (OSError, AudioFileError) as error:
        return str(error)
    return None if found == record.sha256 else f"SHA-256 is {found}, expected {record.sha256}"


def _undecodable(dataset: FolderDataset | StoredDataset, clip_id: str) -> str | None:
    try:
        read_audio(dataset.clip(clip_id).path)
    except AudioFileError as error:
        return str(error)
    return None


def _is_ours(dataset: StoredDataset) -> bool:
    """Whether the audio was stored by this package; a publisher's folder may hold files outside the partition."""
    return dataset.root == dataset.folder


def _extra(dataset: StoredDataset) -> tuple[str, ...]:
    assert isinstance(dataset.root, Path)  # it is the folder of the list
    known = {dataset.record(clip_id).path for clip_id in dataset.clip_ids()}
    found = (path.as_posix() for path in walk(dataset.root) if path.suffix.lower() in AUDIO_SUFFIXES)
    return tuple(sorted(set(found) - known))
