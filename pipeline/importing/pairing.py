"""Pair the files of a folder with the clips of a dataset by their names.

A file belongs to the clip whose id is its path relative to the folder, with or without the ending of an audio file on
either side: ``a/b.wav``, ``a/b.flac`` and ``a/b.wav.flac`` (as runs store it) are resyntheses of ``a/b.wav`` and of
``a/b``. An id with a part that no file system takes also has the name that ``datasets export`` gives it. Composed and
decomposed letters (macOS) are the same, unless two clips differ by them. Of several
possible clips the one whose id is closest wins; where that is none alone, and where a clip has several files, nothing
is chosen. A hidden file (``._a.wav``) that belongs to no clip is passed over: systems lay theirs beside the user's.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize

from codec_superb.data_manifests.audio.audio_file import AUDIO_SUFFIXES
from codec_superb.data_manifests.clip_id import escape_path
from codec_superb.data_manifests.folders.folder_walk import walk
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.importing.names import WAV, without_ending
from codec_superb.pipeline.runs.audio_store import SUFFIX, file_name


@dataclass(frozen=True, slots=True)
class Pairing:
    """The files of a folder by the clips that they belong to."""

    files: dict[str, str] = field(default_factory=dict)
    """Path relative to the folder, by clip id."""
    doubled: dict[str, list[str]] = field(default_factory=dict)
    """All files of a clip that has several."""
    extra: list[str] = field(default_factory=list)
    """Files that belong to no clip, or to several alike."""


class _Names(NamedTuple):
    """Clips by a name that their files may have."""

    whole: dict[str, set[str]]
    """By id, as files without their ending spell it."""
    bare: dict[str, set[str]]
    """By id without the ending of an audio file."""


class ClipNames:
    """The clips of a dataset by the names that their files may have."""

    def __init__(self, clips: Iterable[str]) -> None:
        self._written = _Names(defaultdict(set), defaultdict(set))
        self._composed = _Names(defaultdict(set), defaultdict(set))
        for clip in clips:
            for level, name in enumerate((clip, without_ending(clip))):
                for form in (name, *(file_name(name, suffix).removesuffix(suffix) for suffix in (WAV, SUFFIX))):
                    self._written[level][form].add(clip)
                    self._composed[level][normalize("NFC", form)].add(clip)

    def clip_of(self, path: str, endings: Collection[str] = AUDIO_SUFFIXES) -> str | None:
        """Return the clip that a relative path belongs to; None for none and for several alike."""
        # as it is written first: a file system that tells the two forms apart may have a clip of each
        for names, name in ((self._written, path), (self._composed, normalize("NFC", path))):
            for level, key in _keys(names, name, endings):
                clips = level.get(key, set())
                if len(clips) == 1:
                    return next(iter(clips))
        return None


def _keys(names: _Names, path: str, endings: Collection[str]) -> Iterator[tuple[dict[str, set[str]], str]]:
    """Yield where to look for a path, the closest first: as it is written, and escaped as ids are."""
    for name in (path, *_escaped(path)):
        stem = without_ending(name, endings)
        yield names.whole, name
        yield names.whole, stem
        yield names.bare, stem
        yield names.bare, without_ending(stem)


def pair_files(folder: Path, names: ClipNames, endings: Collection[str]) -> Pairing:
    """Pair the files below ``folder`` that have one of ``endings`` (lower case) with the clips of a dataset.

    Raises PipelineError for a missing folder, DatasetError for one that cannot be listed.
    """
    if not folder.is_dir():
        raise PipelineError(f"expected a folder of files, got {folder}: there is no such folder")
    found: dict[str, list[str]] = defaultdict(list)
    pairing = Pairing()
    for relative in walk(folder):
        if relative.suffix.lower() in endings:
            clip = names.clip_of(str(relative), endings)
            if clip is not None:
                found[clip].append(str(relative))
            elif not any(part.startswith(".") for part in relative.parts):
                pairing.extra.append(str(relative))
    for clip, files in sorted(found.items()):
        if len(files) > 1:
            pairing.doubled[clip] = sorted(files)
        else:
            pairing.files[clip] = files[0]
    pairing.extra.sort()
    return pairing


def _escaped(path: str) -> list[str]:
    try:
        return [escape_path(os.fsencode(path))]
    except ValueError:  # '', /a, ../a
        return []
