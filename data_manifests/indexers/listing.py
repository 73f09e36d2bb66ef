"""Input and output types of the indexers, and helpers that most layouts share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from codec_superb.data_manifests.audio.audio_file import AUDIO_SUFFIXES
from codec_superb.data_manifests.audio.webdataset import ShardReport
from codec_superb.data_manifests.clip import Category
from codec_superb.data_manifests.clip_id import escape_path
from codec_superb.data_manifests.collections import CollectionRow
from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.manifest import ManifestLabels, Partition
from codec_superb.data_manifests.objects.published import KeptClip
from codec_superb.data_manifests.progress import OnProgress, ignore_progress
from codec_superb.data_manifests.trials import Trial

Option = str | int | float | bool | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IndexRequest:
    """The input of an indexer."""

    root: Path
    """The folder given by the user, absolute: the dataset's own folder or the one that it was unpacked into. Of data in
    a store a folder that nothing lies in."""
    partition: Partition
    store: Path
    """Folder for audio that is cut out of longer recordings; need not exist."""
    options: Mapping[str, Option] = field(default_factory=dict)
    progress: OnProgress = ignore_progress
    """Called with stage ``cut`` after each clip that an indexer stores."""
    url: str = ""
    """Of data in a store, which stays there; only the layouts that say so read it."""


@dataclass(frozen=True, slots=True)
class FoundClip:
    """One clip of the partition, with its audio on disk."""

    id: str
    path: Path
    """Of a clip in a store a relative name in its place, which partitions are told by."""
    labels: ManifestLabels
    labelled: bool = True
    """False when the publisher's files have no labels for this clip."""
    licence: str | None = None
    """None for the manifest's licence; set where clips of one dataset differ."""
    attribution: str | None = None
    category: Category | None = None
    """None for the manifest's category; set where a dataset has more than one."""
    kept: KeptClip | None = None
    """Of a clip in a store: where, and what is known of its sound."""


class Part(NamedTuple):
    """What is read at once of data in a store, and need not be read again once it was."""

    key: str
    """What its clips follow from, beside the manifest: another version of an object has another key."""
    name: str
    """For people."""
    read: Callable[[ShardReport], Iterator[FoundClip]]
    """Yields its clips; what cannot be used is noted."""
    notes: tuple[str, ...] = ()
    """Sentences for the report."""
    extra: tuple[str, ...] = ()
    """Audio that the publisher does not list."""


@dataclass(slots=True)
class Listing:
    """The output of an indexer."""

    root: Path
    """The folder that the paths in the clip list are relative to."""
    found: list[FoundClip] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """Clips of the partition that the publisher lists and that are not on disk."""
    extra: list[str] = field(default_factory=list)
    """Audio files in the partition's folders that the publisher does not list."""
    notes: list[str] = field(default_factory=list)
    """Sentences for the report."""
    trials: dict[str, list[Trial]] = field(default_factory=dict)
    """Speaker verification trials by the name of their list."""
    collections: dict[str, Iterable[CollectionRow]] = field(default_factory=dict)
    """Collections by their names; read once, before the audio is hashed."""
    stored: bool = False
    """True when this package stored the clips; they are then hashed by their samples, not by the file's bytes."""

    def add(
        self,
        path: Path,
        labels: ManifestLabels,
        *,
        below: Path,
        prefix: str = "",
        labelled: bool = True,
        licence: str | None = None,
        attribution: str | None = None,
    ) -> None:
        """Add the clip at ``path``; its id is ``prefix`` and the path relative to ``below`` without the suffix."""
        name = prefix + clip_id(path, below)
        self.found.append(FoundClip(name, path, labels, labelled, licence, attribution))


def clip_id(path: Path, below: Path) -> str:
    """Return the id of an audio file: its path relative to ``below``, without the suffix."""
    return escape_path(os.fsencode(path.relative_to(below).with_suffix("")))


def locate(root: Path, markers: str | tuple[str, ...], inner: tuple[str, ...] = ()) -> Path:
    """Return the folder that holds one of ``markers`` (paths or shell patterns): ``root`` or one of its ``inner``.

    Raises LayoutError saying which file was expected where.
    """
    wanted = (markers,) if isinstance(markers, str) else markers
    folders = [root, *(root / name for name in inner)]
    for folder in folders:
        if any(next(folder.glob(marker), None) is not None for marker in wanted):
            return folder
    places = " or ".join(str(folder) for folder in folders)
    raise LayoutError(
        f"{root} does not have its publisher's layout: expected {' or '.join(wanted)} in {places}; "
        "give the folder that the publisher's archive was unpacked into"
    )


def present_splits(base: Path, splits: Iterable[str], listing: Listing) -> list[str]:
    """Return the split folders that exist below ``base``; each missing one adds a note to ``listing``."""
    present = []
    for split in splits:
        if (base / split).is_dir():
            present.append(split)
        else:
            listing.notes.append(f"the folder {split} is not in {base}: all of its clips are missing")
    return present


def audio_below(folder: Path, suffixes: Iterable[str] = AUDIO_SUFFIXES) -> Iterator[Path]:
    """Yield the audio files below ``folder`` in the order of their paths; links to folders are followed once.

    Hidden files and ``__MACOSX``, the folder of resource forks in archives made by macOS, are skipped.
    """
    wanted = frozenset(suffixes)
    seen: set[str] = set()
    for parent, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(parent)
        if real in seen:
            # A link to a folder above it would be followed for ever.
            folders.clear()
            continue
        seen.add(real)
        # macOS puts __MACOSX, a copy of the tree with resource forks, into zip files.
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__MACOSX")
        for name in sorted(names):
            if not name.startswith(".") and os.path.splitext(name)[1].lower() in wanted:  # noqa: PTH122 - a name
                yield Path(parent, name)


def take_listed(
    listing: Listing, folder: Path, labels: Mapping[str, ManifestLabels], *, below: Path | None = None
) -> None:
    """Add the files of ``folder`` that ``labels`` names; names without a file are missing, unnamed files extra.

    ``labels`` maps POSIX paths relative to ``folder``. Ids are relative to ``below``, by default ``folder``.
    """
    start = below or folder
    for name in sorted(labels):
        if (folder / name).is_file():
            listing.add(folder / name, labels[name], below=start)
        else:
            listing.missing.append(clip_id(folder / name, start))
    for path in audio_below(folder):
        if path.relative_to(folder).as_posix() not in labels:
            listing.extra.append(path.relative_to(start).as_posix())
