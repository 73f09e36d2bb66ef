"""A dataset is a named, hashed list of clips; ``open_dataset`` turns a name or a folder into one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from codec_superb.data_manifests.clip import Category, Clip


class Dataset(Protocol):
    """What a run needs of a dataset. Opening one is cheap: no audio is decoded."""

    name: str
    """Manifest name, or the folder's own name made safe for a file name."""
    title: str
    manifest_hash: str
    """SHA-256 (hex) over the clip ids, the audio and the labels; equal on every machine that holds the same data."""
    homepage: str | None
    licence: str
    citation: str | None

    def __len__(self) -> int:
        """Return the number of clips."""
        ...

    def clip_ids(self) -> Sequence[str]:
        """All clip ids, sorted."""
        ...

    def clip(self, clip_id: str) -> Clip:
        """Return the clip; KeyError when the dataset has none of that id."""
        ...


def open_dataset(spec: str | Path, *, category: Category | None = None) -> Dataset:
    """Open a dataset by manifest name, or any folder of audio by path.

    ``category`` says what a folder holds where neither its ``labels.csv`` nor its top-level folder names do;
    it is refused for a named dataset.

    Raises UnknownDataset (with near matches), DatasetNotPrepared (with the command), ManifestError.
    """
    raise NotImplementedError  # the dataset branch
