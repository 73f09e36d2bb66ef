"""A prepared or indexed dataset, read from its clip list, whatever its source."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from codec_superb.data_manifests.clip import Clip
from codec_superb.data_manifests.clip_list import (
    CLIPS_FILE,
    ClipRecord,
    DatasetIndex,
    parse_record,
    read_index,
    resolve_root,
    to_labels,
)
from codec_superb.data_manifests.clusters import UNIT, cluster_id
from codec_superb.data_manifests.collections import Collection, named_collection
from codec_superb.data_manifests.errors import DatasetNotPrepared, ManifestError
from codec_superb.data_manifests.manifest import Manifest

# canonical_json sorts keys and writes ids without ASCII escapes, so an id is found without parsing its line.
_ID = re.compile(rb'"id":"((?:[^"\\]|\\.)*)"')


class StoredDataset:
    """The dataset in ``folder``; a line of the clip list is parsed when its clip is requested."""

    def __init__(self, folder: Path, manifest: Manifest | None = None) -> None:
        """Open ``folder``. Raises DatasetNotPrepared when it has no dataset, ManifestError for a damaged one."""
        index = read_index(folder)
        if index is None:
            raise DatasetNotPrepared(f"{folder} holds no dataset: there is no index.json in it")
        self.folder = folder
        self.index: DatasetIndex = index
        self.root = resolve_root(folder, index)
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
        self._lines = self._read_lines()
        self._ids = sorted(self._lines)
        if len(self._ids) != index.clips:
            raise ManifestError(
                f"{folder / CLIPS_FILE}: expected {index.clips} clips, got {len(self._ids)}; prepare the dataset again"
            )

    def __len__(self) -> int:
        """Return the number of clips."""
        return len(self._ids)

    def clip_ids(self) -> Sequence[str]:
        """All clip ids, sorted."""
        return self._ids

    def clip(self, clip_id: str) -> Clip:
        """Return the clip; KeyError when the dataset has none of that id."""
        record = self.record(clip_id)
        recording = self._recordings.get(clip_id, "")
        cluster = cluster_id(self.name, to_labels(record.labels), self._unit, otherwise=recording)
        return record.to_clip(self.name, self.root, cluster, self._slice)

    @property
    def collections(self) -> Mapping[str, str]:
        """SHA-256 of each collection by its name."""
        return self.index.collections

    def collection(self, name: str) -> Collection:
        """Return a collection. Raises DatasetError for an unknown name, ManifestError for a file that was changed."""
        return named_collection(self.name, self.folder, name, self.collections)

    def record(self, clip_id: str) -> ClipRecord:
        """Return the line of the clip list; KeyError when the dataset has none of that id."""
        return parse_record(self._lines[clip_id], f"{self.folder / CLIPS_FILE}, clip {clip_id}")

    def _read_lines(self) -> dict[str, bytes]:
        path = self.folder / CLIPS_FILE
        try:
            content = path.read_bytes()
        except FileNotFoundError as error:
            raise ManifestError(f"{path} is missing; prepare the dataset again") from error
        lines = {}
        for number, line in enumerate(content.split(b"\n"), start=1):
            if line:
                lines[_id_of(line, f"{path} line {number}")] = line
        return lines


def _id_of(line: bytes, where: str) -> str:
    found = _ID.search(line)
    # Labels may contain the same key; a match before them in the line is unambiguous, otherwise the line is parsed.
    if found and b'"labels"' not in line[: found.start()] and b"\\" not in found[1]:
        return found[1].decode("utf-8", "replace")
    return parse_record(line, where).id
