"""A prepared or indexed dataset, read from its clip list, whatever its source: lines of JSON, or a Parquet table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from codec_superb.data_manifests.clip import Category, Clip
from codec_superb.data_manifests.clip_list import (
    CLIPS_FILE,
    TABLE_FILE,
    ClipRecord,
    DatasetIndex,
    read_index,
    resolve_root,
    to_labels,
)
from codec_superb.data_manifests.clusters import UNIT, cluster_id
from codec_superb.data_manifests.collections import Collection, named_collection
from codec_superb.data_manifests.errors import DatasetNotPrepared, ManifestError
from codec_superb.data_manifests.lists.clip_lines import ClipLines
from codec_superb.data_manifests.lists.clip_table import ClipTable
from codec_superb.data_manifests.lists.remote import remote_list
from codec_superb.data_manifests.manifest import Manifest


class StoredDataset:
    """The dataset in ``folder``."""

    def __init__(self, folder: Path, manifest: Manifest | None = None, url: str = "") -> None:
        """Open ``folder``; of a dataset whose list lies in a store at ``url``, the folder of what was fetched of it.

        Raises DatasetNotPrepared when it has no dataset, ManifestError for a damaged one.
        """
        index = read_index(folder)
        if index is None:
            raise DatasetNotPrepared(f"{folder} holds no dataset: there is no index.json in it")
        self.folder = folder
        self.index: DatasetIndex = index
        self.root = resolve_root(url or folder, index)
        self.name = index.name
        self.title = manifest.title if manifest else index.name
        self.manifest_hash = index.manifest_hash
        self.homepage = manifest.homepage if manifest else None
        self.licence = manifest.licence if manifest else "stated clip by clip"
        self.citation = manifest.citation if manifest else None
        self._unit = manifest.cluster if manifest else UNIT
        self._slice = manifest.slice if manifest else None
        groups = manifest.source.groups if manifest and manifest.source.kind == "packages" else ()
        self._recordings = {clip.id: clip.members[0] for group in groups for clip in group.clips}
        self._list = remote_list(url) if url else self._opened_list()
        self._ids = self._list.ids()
        if len(self._list) != index.clips:
            raise ManifestError(
                f"{self._list.place}: expected {index.clips} clips, got {len(self._list)}; prepare the dataset again"
            )

    def __len__(self) -> int:
        """Return the number of clips."""
        return len(self._list)

    def clip_ids(self) -> Sequence[str]:
        """All clip ids, sorted."""
        return self._ids

    def clip(self, clip_id: str) -> Clip:
        """Return the clip; KeyError when the dataset has none of that id."""
        record = self.record(clip_id)
        recording = self._recordings.get(clip_id, "")
        cluster = cluster_id(self.name, to_labels(record.labels), self._unit, otherwise=recording)
        return record.to_clip(self.name, self.root, cluster, self._slice)

    def categories(self, clip_ids: Iterable[str]) -> Iterator[Category]:
        """Yield the category of each clip; KeyError as :meth:`clip`."""
        return map(self._list.category, clip_ids)

    def header(self, clip_id: str) -> tuple[int, int] | None:
        """Return what the clip list states, else what :meth:`Clip.header` does; KeyError as :meth:`clip`."""
        return self._list.header(clip_id) or self.clip(clip_id).header()

    @property
    def collections(self) -> Mapping[str, str]:
        """SHA-256 of each collection by its name."""
        return self.index.collections

    def collection(self, name: str) -> Collection:
        """Return a collection. Raises DatasetError for an unknown name, ManifestError for a file that was changed."""
        return named_collection(self.name, self.folder, name, self.collections)

    def record(self, clip_id: str) -> ClipRecord:
        """Return the line of the clip list; KeyError when the dataset has none of that id."""
        return self._list.record(clip_id)

    def _opened_list(self) -> ClipLines | ClipTable:
        if (self.folder / TABLE_FILE).is_file():
            return ClipTable(self.folder / TABLE_FILE)
        path = self.folder / CLIPS_FILE
        try:
            return ClipLines(path.read_bytes(), str(path))
        except FileNotFoundError as error:
            raise ManifestError(f"{path} is missing; prepare the dataset again") from error
