"""Files that a codec given as ``path/to/file.py:Class`` reads beside its own: another content makes another run.

What it imports and opens until it is loaded is noticed, and kept with its hashes in ``run.json``. What it opens later,
while it codes, is known too late for that: the run says which file that is. Its declared weights are on its card.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.interface import CheckpointCodec, Codec
from codec_superb.data_manifests.files import unchanged_file_sha256
from codec_superb.files_read import modules_of, noticing
from codec_superb.pipeline.workers.progress import Progress
from codec_superb.plugins import file_of, is_file_name

DECLARE = (
    "open it while the codec is made, or name it in weights_files(), so that a changed file restarts the run "
    "(docs/adding-a-codec.md)"
)


class OpenedLate(NamedTuple):
    """Names of files that a codec opened for the first time while it coded a task."""

    names: tuple[str, ...]


class Watch:
    """What the codec that a worker has open reads; nothing is watched for a codec of the catalogue."""

    def __init__(self, name: str) -> None:
        self._file = file_of(name) if is_file_name(name) else None
        self._known: set[Path] = set()
        self._late: set[Path] = set()
        self.hashes: dict[str, str] = {}
        """SHA-256 by path: of what was read until the codec was loaded, relative to its file where it lies below."""

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Notice what is read while the codec is imported, made and loaded."""
        if self._file is None:
            yield
            return
        with noticing() as read:
            yield
        self._known = read | modules_of(self._file) | {self._file}

    def opened(self, codec: Codec) -> None:
        """Keep the hashes of what was read, but for the codec's own file and its declared weights."""
        if self._file is None:
            return
        declared = {self._file}
        if isinstance(codec, CheckpointCodec):
            declared |= {(codec.folder / name).resolve() for name in codec.weights_files()}
        files = sorted(self._known - declared)
        self._known |= declared
        self.hashes = {_key(path, self._file.parent): _sha256(path) for path in files}

    @contextmanager
    def coding(self) -> Iterator[None]:
        """Notice what is read while clips are coded."""
        if self._file is None:
            yield
            return
        with noticing() as read:
            yield
        self._late |= read - self._known

    def late(self) -> OpenedLate | None:
        """Return what was opened since the last call for the first time; None for nothing."""
        late, self._late = sorted(self._late), set()
        self._known.update(late)
        return OpenedLate(tuple(path.name for path in late)) if late else None


class LateFiles:
    """Says once of each file that a codec opens while it codes that it should be declared."""

    def __init__(self, codec: str) -> None:
        self._codec = codec
        self._told: set[str] = set()

    def tell(self, late: OpenedLate, progress: Progress) -> None:
        """Say it, where no worker has said it before."""
        for name in late.names:
            if name not in self._told:
                self._told.add(name)
                progress.message(f"{self._codec} opened {name} while coding: {DECLARE}")


def unseen(name: str, card: Card, files: Mapping[str, str]) -> str:
    """Return a line for a neural codec of the user's of whose weights nothing is known; '' for any other."""
    declared = card.isolation is not None or (card.weights is not None and card.weights.sha256 is not None)
    if card.kind != "neural" or declared or not is_file_name(name) or any(not file.endswith(".py") for file in files):
        return ""
    return f"{card.name} is neural, and no file of weights was seen to be opened: {DECLARE}"


def changed_files(before: Mapping[str, str], name: str) -> list[str]:
    """Return the names of files whose content is no longer what a run was made with, or that are gone."""
    folder = file_of(name).parent if before else Path()
    return [Path(key).name for key, sha256 in before.items() if _sha256(folder / key) != sha256]


def _sha256(path: Path) -> str:
    try:
        return unchanged_file_sha256(path)
    except OSError:
        return ""


def _key(path: Path, folder: Path) -> str:
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)
