"""Open a dataset, a named and hashed list of clips, by its name or from a folder or files of audio."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from codec_superb.data_manifests.catalogue import is_plugged, load_manifest, manifest_names
from codec_superb.data_manifests.clip import Category, Clip
from codec_superb.data_manifests.clip_list import INDEX_FILE
from codec_superb.data_manifests.collections import Collection
from codec_superb.data_manifests.errors import DatasetError, DatasetNotPrepared
from codec_superb.data_manifests.folders.files_dataset import FilesDataset, is_audio_name, is_list_name
from codec_superb.data_manifests.folders.folder_dataset import FolderDataset
from codec_superb.data_manifests.home import datasets_home
from codec_superb.data_manifests.lists.remote import fetch_index
from codec_superb.data_manifests.manifest import Manifest
from codec_superb.data_manifests.objects.urls import checked_url, is_url, local_path
from codec_superb.data_manifests.preparation import how_to_get
from codec_superb.data_manifests.stored_dataset import StoredDataset


class Dataset(Protocol):
    """The interface of a dataset. Opening one decodes no audio."""

    name: str
    """Manifest name, or the folder's name with characters replaced that are unsafe in file names."""
    title: str
    homepage: str | None
    licence: str
    citation: str | None

    @property
    def manifest_hash(self) -> str:
        """SHA-256 (hex) over clip ids, audio and labels; equal on every machine that holds the same data."""
        ...

    @property
    def collections(self) -> Mapping[str, str]:
        """SHA-256 of each collection's rows, by its name; empty for most datasets."""
        ...

    def collection(self, name: str) -> Collection:
        """Return a collection; DatasetError, naming those that there are, when the dataset has none of that name."""
        ...

    def __len__(self) -> int:
        """Return the number of clips."""
        ...

    def clip_ids(self) -> Sequence[str]:
        """All clip ids, sorted."""
        ...

    def clip(self, clip_id: str) -> Clip:
        """Return the clip; KeyError when the dataset has none of that id."""
        ...


def open_dataset(spec: str | Path, *, category: Category | None = None) -> Dataset:
    """Open a dataset by manifest name, by the path of a manifest, or any folder of audio or audio file by path or URL.

    A file is a dataset of one clip, a list of files (``.txt``, ``.lst``) one of several. A name takes precedence over a
    folder of that name; ``./name`` means the folder. A folder with a clip list (``index.json`` and ``clips.jsonl``) is
    opened by that list. ``category`` applies to the clips of a folder whose ``labels.csv`` and top-level folder names
    give none; it is refused for a named dataset.

    Raises UnknownDataset (with near matches), DatasetNotPrepared (with the command), ManifestError.
    """
    if isinstance(spec, str) and is_url(spec):
        return _open_url(checked_url(spec), category)
    if isinstance(spec, str) and (spec in manifest_names() or is_plugged(spec)):
        return _open_named(spec, category)
    folder = Path(spec).expanduser()
    if (folder / INDEX_FILE).is_file():
        return _open_stored(folder, None, category)
    if is_list_name(str(spec)) or is_audio_name(str(spec)):
        return FilesDataset(folder, category)
    if folder.is_dir() or isinstance(spec, Path) or os.sep in spec:
        return FolderDataset(folder, category)
    load_manifest(spec)  # raises, with near matches
    raise AssertionError(spec)


def categories(dataset: Dataset, clip_ids: Iterable[str]) -> Iterator[Category]:
    """Yield the category of each clip. A list in a table is read by row groups, not clip by clip (60 µs each)."""
    if isinstance(dataset, StoredDataset):
        return dataset.categories(clip_ids)
    return (dataset.clip(clip_id).category for clip_id in clip_ids)


def header(dataset: Dataset, clip_id: str) -> tuple[int, int] | None:
    """Return rate and length as :meth:`Clip.header` does; KeyError, OSError. In a table they are read by row groups."""
    return dataset.header(clip_id) if isinstance(dataset, StoredDataset) else dataset.clip(clip_id).header()


def _open_named(name: str, category: Category | None) -> Dataset:
    manifest = load_manifest(name)
    folder = datasets_home() / manifest.name
    if not (folder / INDEX_FILE).is_file():
        raise DatasetNotPrepared(how_to_get(manifest))
    dataset = _open_stored(folder, manifest, category)
    if dataset.index.manifest_version != manifest.version:
        versions = f"of version {dataset.index.manifest_version}, its manifest of {manifest.version}"
        # steps by hand begin on a line of their own
        raise DatasetNotPrepared(f"{name} on this machine is {versions}:{how_to_get(manifest).partition(':')[2]}")
    return dataset


def _open_url(url: str, category: Category | None) -> Dataset:
    if (path := local_path(url)) is not None:
        return open_dataset(path, category=category)
    from codec_superb.data_manifests.folders.remote_folder import RemoteFolderDataset

    folder = None if is_audio_name(url) else fetch_index(url)
    return _open_stored(folder, None, category, url) if folder else RemoteFolderDataset(url, category)


def _open_stored(folder: Path, manifest: Manifest | None, category: Category | None, url: str = "") -> StoredDataset:
    if category is not None:
        raise DatasetError(
            f"category {category} cannot be given for {url or folder.name}: its clip list says what each clip is"
        )
    return StoredDataset(folder.absolute(), manifest, url)
