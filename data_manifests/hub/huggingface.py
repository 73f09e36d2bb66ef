"""Datasets of the Hugging Face hub: read their rows, store their audio as FLAC, list the clips.

A row has a string ``id`` and a struct ``audio`` of ``bytes`` (an audio file) and ``path``. Rows are read by the
package ``datasets`` (extra ``datasets``) from the hub or its cache, or directly from a folder of Parquet shards.
The bytes are decoded here: the package's own decoder needs torch and returns floats.

With ``HF_HUB_OFFLINE=1`` or ``HF_DATASETS_OFFLINE=1`` the package ``datasets`` reads only its cache; a dataset that is
not in it raises a :class:`~codec_superb.data_manifests.errors.FetchError` that says what to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codec_superb.data_manifests.audio.store import AudioStore
from codec_superb.data_manifests.clip import Category
from codec_superb.data_manifests.clip_id import escape_path
from codec_superb.data_manifests.errors import AudioFileError, FetchError, LayoutError
from codec_superb.data_manifests.indexers.listing import FoundClip, Listing
from codec_superb.data_manifests.manifest import HuggingFaceSource, ManifestLabels
from codec_superb.data_manifests.progress import OnProgress, ProgressUpdate, ignore_progress
from codec_superb.missing_package import not_installed

_ROWS_AT_ONCE = 16
# older releases of the package datasets add a hash to the name: train-00000-of-00001-0123456789abcdef.parquet
_SHARD = re.compile(r"-(\d{5})-of-(\d{5})(?:-[0-9a-f]+)?\.parquet$")


@dataclass(frozen=True, slots=True)
class HubRow:
    """One row of a split."""

    id: str
    content: bytes
    """An audio file of any format that libsndfile reads."""
    path: str | None
    """The file name that the publisher gave it."""
    where: str
    """For error messages: the file or repository, and the number of the row."""


@dataclass(frozen=True, slots=True)
class Split:
    """The rows of one split, and how many there are."""

    rows: Iterator[HubRow]
    count: int


def export(
    source: HuggingFaceSource,
    folder: Path | None,
    store: Path,
    *,
    revision: str | None = None,
    progress: OnProgress = ignore_progress,
) -> Listing:
    """Store the audio of all splits below ``store`` as ``<split>/<id>.flac`` and list the clips.

    Rows are read from the Parquet shards in ``folder``, or from the hub when it is None. Files that an earlier call
    stored from the same bytes are kept. A row that cannot be decoded is listed as missing, with a note. ``progress`` is
    called with stage ``cut`` after each row.

    Raises LayoutError when shards are missing or have other columns, FetchError when the hub cannot be read, and
    ManifestError when two rows have one id.
    """
    listing = Listing(store, stored=True)
    pinned = revision or source.revision
    splits: list[tuple[str, Category, Split]] = []
    for entry in source.splits:
        opened = from_shards(folder, entry.split, listing) if folder else from_hub(source.repo, entry.split, pinned)
        splits.append((entry.split, entry.category, opened))
    total = sum(split.count for _, _, split in splits)
    if folder is None:
        listing.notes.append(f"read from {source.repo} at {pinned or 'the newest revision'}")
    with AudioStore(store) as stored:
        for name, category, split in splits:
            for row in split.rows:
                _export_row(row, name, category, listing, stored)
                progress(ProgressUpdate("cut", len(listing.found) + len(listing.missing), total, f"{name}/{row.id}"))
    return listing


def from_shards(folder: Path, split: str, listing: Listing) -> Split:
    """Open the Parquet shards of ``split`` below ``folder``: ``data/Speech-00000-of-00004.parquet`` and the like."""
    import pyarrow.parquet

    patterns = (f"{split}-*.parquet", f"{split}.parquet", f"{split}/*.parquet")
    paths = sorted({path for pattern in patterns for path in folder.rglob(pattern)})
    if not paths:
        raise LayoutError(f"expected Parquet shards {split}-NNNNN-of-NNNNN.parquet in {folder} or {folder / 'data'}")
    _note_absent_shards(paths, split, listing)
    shards = []
    for path in paths:
        try:
            shards.append(pyarrow.parquet.ParquetFile(path))
        except (pyarrow.ArrowException, OSError) as error:
            raise LayoutError(f"{path} is no Parquet file: {error}") from error
        _check_columns(shards[-1].schema_arrow.names, str(path))
    pairs = list(zip(paths, shards, strict=True))
    rows = (row for path, shard in pairs for row in _shard_rows(path, shard))
    return Split(rows, sum(shard.metadata.num_rows for shard in shards))


def from_hub(repo: str, split: str, revision: str | None) -> Split:
    """Open ``split`` of a hub repository, or of a folder laid out as one, through the package ``datasets``."""
    try:
        import datasets
    except ImportError as error:
        raise FetchError(not_installed(repo, "datasets", extra="datasets")) from error
    try:
        loaded = datasets.load_dataset(repo, split=split, revision=revision)
    except Exception as error:
        raise FetchError(
            f"cannot read split {split} of {repo} at {revision or 'the newest revision'}: {_one_line(error)}; "
            "bring its Parquet files and give their folder with --root DIR"
        ) from error
    _check_columns(loaded.column_names, repo)
    # Without this cast the package datasets (4 and newer) decodes rows with torchcodec, to floats.
    loaded = loaded.cast_column("audio", datasets.Audio(decode=False))
    rows = (_row(row, f"{repo} {split} row {number}") for number, row in enumerate(loaded))
    return Split(rows, len(loaded))


def _shard_rows(path: Path, shard: Any) -> Iterator[HubRow]:
    number = 0
    for batch in shard.iter_batches(batch_size=_ROWS_AT_ONCE, columns=["id", "audio"]):
        for row in batch.to_pylist():
            yield _row(row, f"{path} row {number}")
            number += 1


def _row(row: dict[str, Any], where: str) -> HubRow:
    audio = row["audio"]
    if not isinstance(audio, dict) or not isinstance(audio.get("bytes"), bytes):
        raise LayoutError(f"{where}: expected the column audio to hold bytes and path, got {str(audio)[:60]!r}")
    return HubRow(str(row["id"]), audio["bytes"], audio.get("path"), where)


def _check_columns(names: list[str], where: str) -> None:
    if not {"id", "audio"} <= set(names):
        raise LayoutError(f"{where}: expected the columns id and audio, got {', '.join(names)}")


def _note_absent_shards(paths: list[Path], split: str, listing: Listing) -> None:
    numbers = {(int(match[1]), int(match[2])) for path in paths if (match := _SHARD.search(path.name))}
    wanted = max((count for _, count in numbers), default=0)
    absent = sorted(set(range(wanted)) - {number for number, _ in numbers})
    if absent:
        listing.notes.append(f"shards of {split} are not there: {', '.join(map(str, absent))} of 0 to {wanted - 1}")


def _export_row(row: HubRow, split: str, category: Category, listing: Listing, store: AudioStore) -> None:
    clip_id = _clip_id(split, row)
    try:
        path = store.put(clip_id, row.content, f"{row.where} ({row.id})")
    except AudioFileError as error:
        listing.missing.append(clip_id)
        listing.notes.append(str(error))
        return
    extra = {"split": split} | ({"source_file": row.path} if row.path else {})
    listing.found.append(FoundClip(clip_id, path, ManifestLabels(extra=extra), category=category))


def _clip_id(split: str, row: HubRow) -> str:
    name = f"{split}/{row.id.strip('/')}"
    try:
        return escape_path(name.encode())
    except ValueError as error:
        raise LayoutError(f"{row.where}: the id {row.id!r} makes no clip id: {error}") from error


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
