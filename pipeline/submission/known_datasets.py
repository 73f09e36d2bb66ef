"""Looks up datasets prepared on this machine for the check of a submission; the service has a table instead."""

from __future__ import annotations

from codec_superb.data_manifests import open_dataset
from codec_superb.data_manifests.catalogue import manifest_names
from codec_superb.data_manifests.errors import DatasetNotPrepared
from codec_superb.pipeline.submission.check import KnownDataset


def prepared_dataset(name: str) -> KnownDataset | None:
    """Hash and clips of a named dataset that is prepared here; None where it is not, or where no manifest has the name.

    Pass it as ``known`` to :func:`codec_superb.pipeline.submission.check.check`. A prepared dataset that is damaged
    raises the dataset's own error.
    """
    # A name from an untrusted file must not be resolved as a folder of this machine.
    if name not in manifest_names():
        return None
    try:
        dataset = open_dataset(name)
    except DatasetNotPrepared:
        return None
    return KnownDataset(dataset.manifest_hash, {clip: dataset.clip(clip).category for clip in dataset.clip_ids()})
