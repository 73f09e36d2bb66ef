"""The clip list: the files on disk of a prepared or indexed dataset, the same for every kind of source.

``datasets/<name>/`` under the home folder holds two files, and its collections where it has any:

``clips.jsonl``
    one :class:`ClipRecord` per line, sorted by id;
``index.json``
    a :class:`DatasetIndex`: the folder of the audio, the number of clips, and their hash.

The hash of a dataset is the SHA-256 over the canonical JSON of ids, audio hashes and labels, one line per clip. Paths,
licences and the home folder are not part of it, so it is equal on every machine that holds the same data.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import posixpath
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator

from codec_superb.data_manifests.clip import Category, Clip, Labels
from codec_superb.data_manifests.clip_id import check_clip_id
from codec_superb.data_manifests.clusters import slice_of
from codec_superb.data_manifests.collections import CollectionName
from codec_superb.data_manifests.errors import DatasetError, ManifestError
from codec_superb.data_manifests.files import Readable, write_atomically
from codec_superb.data_manifests.home import datasets_home
from codec_superb.data_manifests.manifest import (
    FilesSource,
    Manifest,
    ManifestLabels,
    Name,
    PackagesSource,
    Sha256,
    StrictModel,
)
from codec_superb.data_manifests.objects.urls import checked_url, is_url

CLIPS_FILE = "clips.jsonl"
TABLE_FILE = "clips.parquet"
"""The same as a table; a folder has one of the two (:mod:`codec_superb.data_manifests.lists.clip_table`)."""
INDEX_FILE = "index.json"


class ObjectPart(StrictModel):
    """Where a clip's file lies in an object of a store."""

    version: str
    """Of the object, as the store states it (ETag)."""
    size: int = Field(ge=0)
    """Bytes of the file; of a cell those of its table."""
    start: int = Field(default=0, ge=0)
    """First byte of the file in the object."""
    row: int | None = Field(default=None, ge=0)
    """Of a cell of a Parquet table, counted from 0."""
    column: str = ""
    suffix: str = ""
    """Of the file's name where that says how it is decoded."""


class ClipRecord(StrictModel):
    """One line of a clip list."""

    id: str
    path: str = Field(min_length=1)
    """Relative to the root of the dataset, POSIX; of a clip in a store that of the object that holds it."""
    object: ObjectPart | None = None
    """Of a clip in a store."""
    frames: int | None = Field(default=None, gt=0)
    """Samples per channel, of a clip in a store: its header is not read."""
    category: Category
    sampling_rate: int | None = Field(default=None, gt=0)
    """Hz; None where the header was not read."""
    licence: str
    attribution: str
    sha256: Sha256
    sha256_of: Literal["file", "samples"] = "file"
    """``file``: the bytes of the audio file, as published. ``samples``: the decoded samples
    (:func:`~codec_superb.data_manifests.audio.samples.samples_sha256`), for audio that this package stored, since two
    versions of a FLAC encoder may write different files for the same samples."""
    labels: ManifestLabels = ManifestLabels()

    @field_validator("id")
    @classmethod
    def _id_is_portable(cls, value: str) -> str:
        return check_clip_id(value)

    def sound(self, root: Path | str) -> Readable:
        """Return where the clip's file is, below the folder or URL ``root``."""
        if isinstance(root, Path):
            return root / self.path
        from codec_superb.data_manifests.objects.sound import StoredSound

        its = self.object
        if its is None:  # a file as it lay in a folder
            return StoredSound(f"{root}/{self.path}", 0, "", sha256=self.sha256, sha256_of=self.sha256_of)
        return StoredSound(
            f"{root}/{self.path}", its.size, its.version, its.start, its.row, its.column, its.suffix,
            stored=self.sha256_of == "samples", sha256=self.sha256, sha256_of=self.sha256_of,
        )  # fmt: skip

    def to_clip(self, dataset: str, root: Path | str, cluster: str = "", slice_label: str | None = None) -> Clip:
        """Return the clip of this line: path below ``root``, cluster, and the label that names its condition."""
        labels = to_labels(self.labels)
        return Clip(
            id=self.id,
            dataset=dataset,
            category=self.category,
            path=self.sound(root),
            licence=self.licence,
            attribution=self.attribution,
            sampling_rate=self.sampling_rate,
            frames=self.frames,
            labels=labels,
            cluster=cluster,
            slice=slice_of(labels, slice_label),
        )


class DatasetIndex(StrictModel):
    """The content of ``index.json``."""

    schema_version: Literal[1] = 1
    name: Name
    manifest_version: str
    root: str
    """Folder or URL that the clips' paths are relative to: absolute, or relative to the folder of this file."""
    clips: int = Field(ge=0)
    expected_clips: int | None = None
    missing: int = Field(default=0, ge=0)
    """Clips that the publisher lists and that are not in the root folder."""
    extra: int = Field(default=0, ge=0)
    """Clips in the root folder that the publisher does not list; they are not in the clip list."""
    seconds: float | None = None
    """Duration of all clips together, where it is known."""
    manifest_hash: Sha256
    source_hash: Sha256 | None = None
    """Hash of the manifest's source; a dataset that was prepared from another source is prepared again."""
    collections: dict[CollectionName, Sha256] = Field(default_factory=dict)
    """SHA-256 of the rows of each collection beside the clip list."""


def to_labels(labels: ManifestLabels) -> Labels:
    """Convert labels of a clip list to the labels of a clip."""
    fields = labels.model_dump(exclude={"extra"})
    return Labels(**fields, extra=tuple(sorted(labels.extra.items())))


def hash_clips(clips: Iterable[tuple[str, str, Labels]]) -> str:
    """Return the SHA-256 (hex) over id, SHA-256 of the audio and labels of each clip, in the order of ids.

    Each clip is one line of JSON: keys sorted, no spaces, UTF-8, unknown fields omitted.
    """
    digest = hashlib.sha256()
    for clip_id, sha256, labels in sorted(clips, key=lambda clip: clip[0]):
        digest.update(hash_line(clip_id, sha256, labels))
    return digest.hexdigest()


def hash_line(clip_id: str, sha256: str, labels: Labels) -> bytes:
    """Return the line that a clip adds to the hash of its dataset."""
    # Without empty labels: a label that the format gains later changes no hash.
    known = {key: value for key, value in _label_fields(labels).items() if value}
    return canonical_json({"id": clip_id, "labels": known, "sha256": sha256}) + b"\n"


def hash_records(records: Iterable[ClipRecord]) -> str:
    """Return :func:`hash_clips` of the lines of a clip list."""
    return hash_clips((record.id, record.sha256, to_labels(record.labels)) for record in records)


def hash_source(source: PackagesSource | FilesSource) -> str:
    """Return the SHA-256 (hex) of the part of a manifest that says what the clips are made of."""
    # without what is empty by default: a field that the format gains later changes no hash
    absent = {"manifest_hash"} | {name for name in ("collections", "options") if not getattr(source, name, None)}
    return hashlib.sha256(canonical_json(source.model_dump(mode="json", exclude=absent))).hexdigest()


def check_hash(name: str, expected: str | None, found: str) -> None:
    """Raise DatasetError when clips that should be the same on every machine are not."""
    if expected and found != expected:
        raise DatasetError(
            f"{name}: expected audio with the hash {expected}, got {found}: scores would not be comparable. "
            "Check the versions of av and soundfile, and report it"
        )


def canonical_json(value: object) -> bytes:
    """Return ``value`` as JSON in a canonical form: sorted keys, no spaces, UTF-8, no NaN."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")


def write_clip_list(folder: Path, index: DatasetIndex, records: Iterable[ClipRecord]) -> DatasetIndex:
    """Write ``clips.jsonl`` and then ``index.json`` into ``folder``; return the index as written.

    Number of clips and hash of ``index`` are replaced by those of ``records``. Both files are written atomically;
    ``index.json``, which marks a dataset as prepared, is written last.

    Raises ManifestError when two records have one id.
    """
    ordered = sorted(records, key=lambda record: record.id)
    for before, after in itertools.pairwise(ordered):
        if before.id == after.id:
            raise ManifestError(f"{folder / CLIPS_FILE}: the clip id {after.id!r} is given twice")
    index = index.model_copy(update={"clips": len(ordered), "manifest_hash": hash_records(ordered)})
    folder.mkdir(parents=True, exist_ok=True)
    lines = b"".join(canonical_json(record.model_dump(exclude_defaults=True)) + b"\n" for record in ordered)
    write_atomically(folder / CLIPS_FILE, lines)
    (folder / TABLE_FILE).unlink(missing_ok=True)
    return write_index(folder, index)


def write_index(folder: Path, index: DatasetIndex) -> DatasetIndex:
    """Write ``index.json``, behind the list itself: a folder counts as a dataset once its index is there."""
    write_atomically(folder / INDEX_FILE, index.model_dump_json(indent=2).encode() + b"\n")
    return index


def read_index(folder: Path) -> DatasetIndex | None:
    """Return the index in ``folder``, or None when there is none. Raises ManifestError for an invalid one."""
    path = folder / INDEX_FILE
    try:
        return DatasetIndex.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise ManifestError(f"{path} is no dataset index: {describe(error)}; delete it and prepare again") from error


def current_index(manifest: Manifest) -> DatasetIndex | None:
    """Return the index of a dataset on this machine; None where there is none, a damaged one, or another version's."""
    try:
        index = read_index(datasets_home() / manifest.name)
    except ManifestError:  # it is written again
        return None
    return index if index is not None and index.manifest_version == manifest.version else None


def read_records(folder: Path) -> Iterator[ClipRecord]:
    """Yield the records of the clip list in ``folder``. Raises ManifestError naming an invalid line."""
    path = folder / CLIPS_FILE
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                yield parse_record(line, f"{path} line {number}")
    except FileNotFoundError as error:
        raise ManifestError(f"{path} is missing; delete {folder} and prepare the dataset again") from error


def parse_record(line: bytes, where: str) -> ClipRecord:
    """Return the record in ``line``. Raises ManifestError, beginning with ``where``, for an invalid line."""
    try:
        return ClipRecord.model_validate_json(line)
    except ValidationError as error:
        raise ManifestError(f"{where} is no clip: {describe(error)}") from error


def resolve_root(folder: Path | str, index: DatasetIndex) -> Path | str:
    """Return the folder, or the URL in a store, that the paths of the clips in ``folder`` are relative to.

    Raises ManifestError where a list in a store names a folder of some machine.
    """
    if is_url(index.root):
        return checked_url(index.root)
    if isinstance(folder, str):
        if index.root.startswith("/"):
            raise ManifestError(f"{folder}: its clips lie in {index.root} of the machine that listed them")
        inner = posixpath.normpath(index.root)
        return folder if inner == "." else f"{folder}/{inner}"
    # An absolute root replaces the folder, as pathlib joins.
    return Path(os.path.normpath(folder / index.root))


def describe(error: ValidationError) -> str:
    """Describe a validation error in one line: the field, the reason, and the value."""
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"]) or "the whole"
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{field}: {first['msg']}, got {str(first['input'])[:80]!r}{more}"


def _label_fields(labels: Labels) -> dict[str, Any]:
    return {
        "text": labels.text,
        "language": labels.language,
        "speaker": labels.speaker,
        "emotion": labels.emotion,
        "events": list(labels.events),
        "extra": dict(labels.extra),
        **_asked(labels),
    }


def _asked(labels: Labels) -> dict[str, Any]:
    """Return the newer labels that are there: a dataset without any keeps its hash."""
    found = {"question": labels.question, "choices": list(labels.choices), "answers": list(labels.answers)}
    return {name: value for name, value in found.items() if value}
