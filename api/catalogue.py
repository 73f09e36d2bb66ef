"""``codecs``, ``datasets``, ``metrics`` and ``open_dataset``: what there is to evaluate with."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from codec_superb.api.given import check_category
from codec_superb.api.live import generators_kept
from codec_superb.api.progress import bars
from codec_superb.base_codec import registry
from codec_superb.base_codec.card import Card
from codec_superb.cli.selection import prepare_fetched
from codec_superb.data_manifests import Category, Dataset, DatasetError, Labels, Manifest, list_manifests
from codec_superb.data_manifests import open_dataset as open_listed
from codec_superb.data_manifests.catalogue import announced_manifests
from codec_superb.metrics.plugged import known_metrics

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

metrics = known_metrics


def codecs(pattern: str = "*") -> dict[str, Card]:
    """Return the codecs whose names match a shell pattern, by family and bitrate: name and card."""
    return {name: registry.card(name) for name in registry.names() if fnmatchcase(name, pattern)}


def datasets() -> dict[str, Manifest]:
    """Return the datasets that have a name: the benchmark's own, and those of installed plug-ins."""
    found = {manifest.name: manifest for manifest in list_manifests()}
    return found | {name: manifest for name, (manifest, _) in announced_manifests().items()}


class DatasetClip(NamedTuple):
    """A clip of a dataset with its sound."""

    id: str
    audio: NDArray[np.float32]
    """``(channels, samples)`` in [-1, 1]."""
    rate: int
    """Hz."""
    category: Category
    labels: Labels


class AudioDataset:
    """A dataset whose clips are decoded as they are taken: iterate it, or take one by its id."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset

    @property
    def name(self) -> str:
        """Its name."""
        return self.dataset.name

    @property
    def ids(self) -> list[str]:
        """Ids of all clips, sorted."""
        return list(self.dataset.clip_ids())

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, clip: str) -> DatasetClip:
        """Decode a clip. Raises DatasetError for an unknown id, AudioFileError for a file that cannot be decoded."""
        try:
            found = self.dataset.clip(clip)
        except (KeyError, TypeError, AttributeError):
            raise DatasetError(f"{self.name} has no clip {clip!r}: a clip is taken by its id, one of .ids") from None
        audio, rate = found.load()
        return DatasetClip(found.id, audio, rate, found.category, found.labels)

    def __iter__(self) -> Iterator[DatasetClip]:
        return map(self.__getitem__, self.ids)

    def __repr__(self) -> str:
        return f"<dataset {self.name}: {len(self)} clips>"


@generators_kept()
def open_dataset(dataset: str | Path, *, category: Category | None = None, progress: bool = True) -> AudioDataset:
    """Open a dataset by name, or a folder of audio; one that is fetched, such as ``mini``, is fetched first.

    Raises DatasetError with what to do for one that is not on this machine.
    """
    check_category(category)
    with bars(shown=progress) as bar:
        prepare_fetched([str(dataset)], bar)
    return AudioDataset(open_listed(dataset, category=category))
