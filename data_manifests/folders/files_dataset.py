"""Single audio files as a dataset: one file, or a list of files.

A list is a text file (``.txt`` or ``.lst``) with a path a line, relative to the list's folder, or with a NUL byte
behind each (``find -print0``). Several files that are named one by one, and a list on standard input, are stored as
such a list below ``CODEC_SUPERB_HOME``, so that later commands open the same dataset by its path.

The id of a clip is its path relative to the deepest folder that holds all files, so that ids and hash are those of a
folder with these files alone. Labels come with folders: a file has none.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from codec_superb.data_manifests.audio.audio_file import AUDIO_SUFFIXES
from codec_superb.data_manifests.clip import Category
from codec_superb.data_manifests.errors import ManifestError, UnknownDataset
from codec_superb.data_manifests.files import write_atomically
from codec_superb.data_manifests.folders.folder_dataset import FolderDataset, add_clip, safe_name
from codec_superb.data_manifests.home import codec_superb_home
from codec_superb.data_manifests.objects.urls import is_url

LIST_SUFFIXES = (".lst", ".txt")
STANDARD_INPUT = "-"
_NAMED = 5
"""Files that an error names; the others are counted."""


class FilesDataset(FolderDataset):
    """One audio file, or the files of a list."""

    def __init__(self, file: Path, category: Category | None = None) -> None:
        """Take an audio file or a list of such files.

        Raises UnknownDataset for what is missing or no audio, ManifestError for a file that is named twice.
        """
        place = file.expanduser().absolute()
        single = is_audio_name(str(file))
        files = [place] if single else _read_list(place)
        _refuse_missing(
            files, "" if single or place.parent == _lists() else "; paths in a list are relative to its folder"
        )
        folder = Path(os.path.commonpath([path.parent for path in files]))
        paths: dict[str, bytes] = {}
        for path, number in Counter(files).items():
            if number > 1:
                raise ManifestError(f"{path} is named {number} times: name each file once")
            add_clip(paths, os.fsencode(path.relative_to(folder)))
        self._describe(_name(place, files), folder, category, paths, {}, place)

    @functools.cached_property
    def collections(self) -> Mapping[str, str]:
        """None: collections come with folders."""
        return {}


def is_audio_name(spec: str) -> bool:
    """Whether ``spec`` is the name of an audio file, by its ending, and no folder; that of an object too."""
    path = Path(spec).expanduser()
    return path.suffix.lower() in AUDIO_SUFFIXES and not path.is_dir()


def is_list_name(spec: str) -> bool:
    """Whether ``spec`` is a list of files, by its ending."""
    path = Path(spec).expanduser()
    return path.suffix.lower() in LIST_SUFFIXES and path.is_file()


def gather_files(specs: Sequence[str], standard_input: BinaryIO) -> list[str]:
    """Return ``specs`` with all audio files among them, and those listed on standard input (``-``), as one dataset.

    Raises UnknownDataset for a missing file, and for a standard input that names none.
    """
    files: list[str] = []
    gathered: list[str | None] = []
    for spec in specs:
        listed = spec == STANDARD_INPUT
        if not listed and (is_url(spec) or not is_audio_name(spec)):
            gathered.append(spec)
            continue
        if not files:
            gathered.append(None)  # in the place of the first file
        found = [os.fsdecode(line) for line in _lines(standard_input.read())] if listed else [spec]
        if not found:
            raise UnknownDataset("expected a list of audio files on standard input, a path a line; got nothing")
        files += found
    whole = "" if not files else files[0] if len(files) == 1 else str(_store_list(files))
    return [whole if spec is None else spec for spec in gathered]


def _store_list(files: Sequence[str]) -> Path:
    paths = [Path(os.path.abspath(Path(file).expanduser())) for file in files]  # noqa: PTH100 - without following links
    _refuse_missing(paths)
    content = b"".join(os.fsencode(path) + b"\0" for path in paths)
    stored = _lists() / f"{hashlib.sha256(content).hexdigest()[:32]}.lst"
    stored.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(stored, content)
    return stored


def _lists() -> Path:
    return codec_superb_home() / "lists"


def _read_list(place: Path) -> list[Path]:
    try:
        lines = _lines(place.read_bytes())
    except OSError as error:
        raise UnknownDataset(f"cannot read the list of files {place}: {error.strerror or error}") from error
    if not lines:
        raise UnknownDataset(f"expected a list of audio files in {place}, a path a line; got an empty file")
    # normalised without following links, as ids are
    return [Path(os.path.normpath(place.parent / Path(os.fsdecode(line)).expanduser())) for line in lines]


def _lines(content: bytes) -> list[bytes]:
    """Split at NUL bytes where there are any, else at line ends; empty lines are none."""
    if b"\0" in content:
        return [line for line in content.split(b"\0") if line]
    return [line.rstrip(b"\r") for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]


def _refuse_missing(files: Sequence[Path], hint: str = "") -> None:
    """Refuse what is no file and what is no audio, naming the first few. Raises UnknownDataset."""
    if missing := [str(file) for file in files if not file.is_file()]:
        raise UnknownDataset(f"there is no file {_named(missing)}{hint}")
    if other := [str(file) for file in files if file.suffix.lower() not in AUDIO_SUFFIXES]:
        endings = " ".join(sorted(AUDIO_SUFFIXES))
        raise UnknownDataset(f"expected audio files in the list, got {_named(other)}; audio ends in one of {endings}")


def _named(files: Sequence[str]) -> str:
    more = len(files) - _NAMED
    return ", ".join(files[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _name(place: Path, files: Sequence[Path]) -> str:
    """Name one file by itself, a list of the user's by the list, other files by the first of them."""
    if place.suffix.lower() in LIST_SUFFIXES and place.parent != _lists():
        return safe_name(place.stem)
    first = safe_name(min(files).stem)
    return first if len(files) == 1 else f"{first}_and_{len(files) - 1}_more"
