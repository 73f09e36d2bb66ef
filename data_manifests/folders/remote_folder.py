"""A folder of audio in a store, or one object, as a dataset: as a folder on this machine, listed and read by URL."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

from codec_superb.data_manifests.audio.audio_file import AUDIO_SUFFIXES
from codec_superb.data_manifests.clip import Category
from codec_superb.data_manifests.errors import ObjectError, UnknownDataset
from codec_superb.data_manifests.files import write_atomically
from codec_superb.data_manifests.folders.folder_dataset import UNREADABLE, FolderDataset, add_clip, safe_name
from codec_superb.data_manifests.folders.labels_csv import LABELS_FILE, LabelRow, read_labels
from codec_superb.data_manifests.hash_cache import HashCache
from codec_superb.data_manifests.home import codec_superb_home
from codec_superb.data_manifests.objects.sound import StoredSound
from codec_superb.data_manifests.objects.stores import Found, store_of

_AT_ONCE = 8
"""Objects that are read at the same time for their hashes."""
_WAITING = 1024
"""Objects that wait for that."""


class RemoteFolderDataset(FolderDataset):
    """The objects below ``url`` whose names end like audio; ids and hash are those of a folder with the same files."""

    def __init__(self, url: str, category: Category | None = None) -> None:
        """List the objects. Raises UnknownDataset where there are none, ManifestError for labels, StoreError."""
        store, key = store_of(url)
        single = PurePosixPath(key).suffix.lower() in AUDIO_SUFFIXES
        found = [store.stat(key)] if single else [each for each in store.listed(key) if not each.url.endswith("/")]
        self.url = url.rpartition("/")[0] if single else url
        self._objects: dict[bytes, Found] = {each.url[len(self.url) + 1 :].encode(): each for each in found}
        paths: dict[str, bytes] = {}
        for path in self._objects:
            if PurePosixPath(path.decode()).suffix.lower() in AUDIO_SUFFIXES:
                add_clip(paths, path)
        if not paths:
            endings = " ".join(sorted(AUDIO_SUFFIXES))
            raise UnknownDataset(f"no audio below {url}: none of {len(found)} objects ends in one of {endings}")
        stem = PurePosixPath(key).stem if single else url.rsplit("/", 1)[-1]
        self._describe(safe_name(stem), Path(), category, paths, self._read_labels(paths))
        self.ignored = len(found) - len(paths) - (LABELS_FILE.encode() in self._objects)

    @functools.cached_property
    def collections(self) -> Mapping[str, str]:
        """None: a folder of a store has none; a dataset with a clip list may."""
        return {}

    @property
    def _state(self) -> Path:
        return codec_superb_home() / "folders" / hashlib.sha256(self.url.encode()).hexdigest()[:32]

    def _path(self, clip_id: str) -> StoredSound:
        found = self._objects[self._paths[clip_id]]
        return StoredSound(found.url, found.size, found.version)

    def _contents(self, cache: HashCache) -> list[str]:
        found: list[str] = []
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            # a task that waits takes a kilobyte
            for first in range(0, len(self._ids), _WAITING):
                ids = self._ids[first : first + _WAITING]
                found += pool.map(lambda clip_id: self._content(clip_id, cache), ids)
        return found

    def _content(self, clip_id: str, cache: HashCache) -> str:
        sound = self._path(clip_id)
        # a hash cache has a time of change in the place of what stands for the version here
        version = int(hashlib.sha256(sound.version.encode()).hexdigest()[:15], 16)
        try:
            return cache.get_stamped(clip_id, (sound.size, version), lambda: _sha256(sound))
        except ObjectError:
            return UNREADABLE

    def _read_labels(self, paths: Mapping[str, bytes]) -> Mapping[str, LabelRow]:
        found = self._objects.get(LABELS_FILE.encode())
        if found is None:
            return {}
        labels = self._state / LABELS_FILE
        labels.parent.mkdir(parents=True, exist_ok=True)
        with StoredSound(found.url, found.size, found.version).open() as file:
            write_atomically(labels, file.read())
        return read_labels(labels, frozenset(paths))


def _sha256(sound: StoredSound) -> str:
    with sound.open() as file:
        return hashlib.sha256(file.read()).hexdigest()
