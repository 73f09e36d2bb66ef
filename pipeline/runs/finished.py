"""Group finished runs by dataset for a later stage, and refuse unfinished runs and changed datasets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from codec_superb.data_manifests import Dataset, open_dataset
from codec_superb.pipeline.conditions.record import Condition
from codec_superb.pipeline.errors import RunFolderError
from codec_superb.pipeline.runs.dataset_access import DatasetSpec, refuse_other_state
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.info import RunInfo
from codec_superb.pipeline.runs.selection import select_clips
from codec_superb.pipeline.runs.shard import Shard


class RunGroup(NamedTuple):
    """All runs of one dataset, which share their references."""

    spec: DatasetSpec
    dataset: Dataset
    named: bool
    """Whether the dataset has a manifest; otherwise it is a folder of the user."""
    reference: Condition | None
    """The condition of the sound that metrics compare with; None for the clean originals."""
    folders: tuple[RunFolder, ...]
    shard: Shard | None = None
    """Which shard of their runs the folders are; None for whole runs."""


def by_dataset(folders: Sequence[RunFolder]) -> Iterator[RunGroup]:
    """Group runs by dataset and open each dataset once. Raises DatasetError for one that is not on this machine."""
    for _, members in groupby(sorted(folders, key=_dataset_key), key=_dataset_key):
        group = tuple(members)
        info = group[0].info().dataset
        place = info.location or info.name
        dataset = open_dataset(place, category=info.category)
        spec = DatasetSpec(place, info.category, dataset.manifest_hash)
        yield RunGroup(spec, dataset, info.location is None, _reference(group[0]), group, info.shard)


def _dataset_key(folder: RunFolder) -> tuple[str, ...]:
    """Return the key by which runs of one dataset with the same references are grouped."""
    dataset, reference = folder.info().dataset, _reference(folder)
    return (
        dataset.location or dataset.name, dataset.category or "", reference.name if reference else "",
        str(dataset.shard or ""),
    )  # fmt: skip


def _reference(folder: RunFolder) -> Condition | None:
    """Return the condition of a run that is compared with the sound that its codec was given."""
    condition = folder.info().condition
    return None if condition is None or condition.reference == "clean" else condition


def selected_clips(folder: RunFolder, info: RunInfo, dataset: Dataset) -> Sequence[str]:
    """Return the clips of a finished run, sorted; of a shard, those that it has.

    Raises RunFolderError for a run that is not finished, or whose dataset has changed.
    """
    asked = asked_clips(folder, info, dataset)
    # its table has them: no header of a file is read again
    return asked if info.dataset.shard is None else [clip for clip, _ in folder.resyntheses()]


def asked_clips(folder: RunFolder, info: RunInfo, dataset: Dataset) -> Sequence[str]:
    """Return the clips of a finished run, sorted; of a shard, those of all shards. Raises as above."""
    if info.status == "started":
        raise RunFolderError(f"the run {folder.path} is not finished; call resynth again, or import, to go on with it")
    refuse_other_state(dataset, info.dataset)
    return select_clips(dataset, info.dataset.selected, info.dataset.only)
