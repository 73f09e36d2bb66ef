"""Any folder of audio as a dataset.

Every file below the folder with an audio suffix is a clip: one that cannot be decoded fails later with its reason
instead of being skipped. Other files are counted. The id of a clip is its relative path
(:mod:`~codec_superb.data_manifests.clip_id`), the same on every machine.

The category of a clip is the first that is given of: the column ``category`` of ``labels.csv``; its top-level folder,
if that is called ``speech``, ``audio`` or ``music``; the argument ``category``; ``speech``.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

from codec_superb.data_manifests.audio.audio_file import AUDIO_SUFFIXES
from codec_superb.data_manifests.clip import CATEGORIES, Category, Clip, Labels
from codec_superb.data_manifests.clip_id import escape_path
from codec_superb.data_manifests.clip_list import hash_clips
from codec_superb.data_manifests.clusters import cluster_id
from codec_superb.data_manifests.collections import Collection, named_collection
from codec_superb.data_manifests.errors import ManifestError, UnknownDataset
from codec_superb.data_manifests.files import Readable, file_sha256
from codec_superb.data_manifests.folders.folder_collections import find_tables, store_collections
from codec_superb.data_manifests.folders.folder_walk import walk
from codec_superb.data_manifests.folders.labels_csv import LABELS_FILE, LabelRow, read_labels
from codec_superb.data_manifests.hash_cache import HashCache
from codec_superb.data_manifests.home import codec_superb_home

DEFAULT_CATEGORY: Category = "speech"
UNSTATED = "not stated"
"""Licence of a clip without a stated one."""
UNREADABLE = "unreadable"
"""Placeholder in the hash for the content of a file that cannot be read."""

_NOTHING = LabelRow(Labels(), None, None, None)


class FolderDataset:
    """The audio files below one folder."""

    def __init__(self, folder: Path, category: Category | None = None) -> None:
        """List the folder. Raises UnknownDataset when it is missing or has no clip, ManifestError for its labels."""
        if not folder.is_dir():
            raise UnknownDataset(f"{folder} is no folder" if folder.exists() else f"there is no folder {folder}")
        paths, ignored = _list_clips(folder.absolute())
        if not paths:
            endings = " ".join(sorted(AUDIO_SUFFIXES))
            raise UnknownDataset(f"no audio in {folder}: none of {ignored} files ends in one of {endings}")
        labels = folder.absolute() / LABELS_FILE
        rows = read_labels(labels, frozenset(paths)) if labels.exists() else {}
        self._describe(safe_name(folder.resolve().name), folder.absolute(), category, paths, rows)
        self.ignored = ignored

    def _describe(
        self,
        name: str,
        folder: Path,
        category: Category | None,
        paths: Mapping[str, bytes],
        rows: Mapping[str, LabelRow],
        place: Path | None = None,
    ) -> None:
        """Take the clips by id, with their paths relative to ``folder``; ``place`` is what the user named."""
        self.folder = folder
        self.name = self.title = name
        self.homepage: str | None = None
        self.citation: str | None = None
        self.ignored = 0
        self._category = category
        self._place = place or folder
        self._paths, self._rows = paths, rows
        self._ids = sorted(paths)
        self.licence = self._common_licence()

    def __len__(self) -> int:
        """Return the number of clips."""
        return len(self._ids)

    def clip_ids(self) -> Sequence[str]:
        """All clip ids, sorted."""
        return self._ids

    def clip(self, clip_id: str) -> Clip:
        """Return the clip; KeyError when the folder has none of that id."""
        path = self._path(clip_id)
        row = self._rows.get(clip_id, _NOTHING)
        return Clip(
            id=clip_id,
            dataset=self.name,
            category=row.category or self._category_of(clip_id),
            path=path,
            licence=row.licence or UNSTATED,
            attribution=row.attribution or "",
            labels=row.labels,
            cluster=cluster_id(self.name, row.labels),
        )

    @functools.cached_property
    def collections(self) -> Mapping[str, str]:
        """SHA-256 of each collection by its name. Raises ManifestError for a table that cannot be one."""
        return store_collections(self.folder, self._state)

    def collection(self, name: str) -> Collection:
        """Return a collection. Raises DatasetError when the folder has none of that name."""
        return named_collection(self.name, self._state, name, self.collections)

    @functools.cached_property
    def manifest_hash(self) -> str:
        """SHA-256 (hex) over ids, contents of the files and labels.

        The first call reads all files; later ones, in any process, only those with another size or modification time.
        """
        cache = HashCache(self._state.with_suffix(".json"))
        contents = self._contents(cache)
        cache.save()
        return hash_clips(zip(self._ids, contents, map(self._labels, self._ids), strict=True))

    @property
    def _state(self) -> Path:
        """What is kept about this folder: collections in the folder of this name, hashes in the file beside it."""
        key = hashlib.sha256(os.fsencode(os.path.realpath(self._place))).hexdigest()[:32]
        return codec_superb_home() / "folders" / key

    def _contents(self, cache: HashCache) -> list[str]:
        """Return the SHA-256 of each clip's file."""
        return [self._content(clip_id, cache) for clip_id in self._ids]

    def _content(self, clip_id: str, cache: HashCache) -> str:
        try:
            return cache.get(clip_id, self.folder / os.fsdecode(self._paths[clip_id]), file_sha256)
        except OSError:
            return UNREADABLE

    def _labels(self, clip_id: str) -> Labels:
        return self._rows.get(clip_id, _NOTHING).labels

    def _path(self, clip_id: str) -> Readable:
        return self.folder / os.fsdecode(self._paths[clip_id])

    @property
    def assumed_category(self) -> Category | None:
        """Category of the clips of which nobody states one; None where each has one."""
        unstated = (
            clip_id
            for clip_id in self._ids
            if not self._rows.get(clip_id, _NOTHING).category and not _category_of_path(clip_id)
        )
        return DEFAULT_CATEGORY if self._category is None and any(unstated) else None

    def _category_of(self, clip_id: str) -> Category:
        return _category_of_path(clip_id) or self._category or DEFAULT_CATEGORY

    def _common_licence(self) -> str:
        licences = {self._rows.get(clip_id, _NOTHING).licence or UNSTATED for clip_id in self._ids}
        return licences.pop() if len(licences) == 1 else "several, stated clip by clip"


def _category_of_path(clip_id: str) -> Category | None:
    top, below, _ = clip_id.partition("/")
    return next((category for category in CATEGORIES if below and category == top), None)


def _list_clips(root: Path) -> tuple[dict[str, bytes], int]:
    """Return the relative path of each clip by id, and the number of other files; labels and collections are ours."""
    clips: dict[str, bytes] = {}
    ignored = 0
    ours = {root / LABELS_FILE, *find_tables(root).values()}
    for relative in walk(root):
        if relative.suffix.lower() not in AUDIO_SUFFIXES:
            ignored += root / relative not in ours
            continue
        add_clip(clips, os.fsencode(relative))
    return clips, ignored


def add_clip(clips: dict[str, bytes], path: bytes) -> None:
    """Add a relative path by its clip id. Raises ManifestError where another has that id."""
    clip_id = escape_path(path)
    if clip_id in clips:
        raise ManifestError(f"{path!r} and {clips[clip_id]!r} give one clip id, {clip_id}: rename one")
    clips[clip_id] = path


def safe_name(name: str) -> str:
    """Return the name of a dataset for the name of a folder or file: characters replaced that are no letters.

    A name that is not ASCII gets digits of its SHA-256, since others would lose the same letters. Composed and
    decomposed letters (macOS) are the same.
    """
    written = unicodedata.normalize("NFC", os.fsencode(name).decode("utf-8", "backslashreplace"))
    plain = re.sub(r"[^\w.-]+", "_", written, flags=re.ASCII).strip("._-")
    if name.isascii():
        return plain[:64] or "folder"
    return f"{plain[:55] or 'folder'}_{hashlib.sha256(written.encode()).hexdigest()[:8]}"
