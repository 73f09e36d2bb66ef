"""Describe a dataset of this machine as the service keeps it, for ``admin datasets`` and for local runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codec_superb.server.datasets.service import DatasetFacts


def facts_of_prepared(name: str) -> DatasetFacts:
    """Describe a named dataset as it is prepared on this machine.

    Raises UnknownDataset for a name without a manifest, DatasetNotPrepared with the command that prepares it.
    """
    from codec_superb.data_manifests import open_dataset
    from codec_superb.data_manifests.catalogue import load_manifest
    from codec_superb.pipeline.submission.check import KnownDataset
    from codec_superb.server.datasets.service import DatasetFacts

    manifest = load_manifest(name)  # first: a folder of this name is not meant
    dataset = open_dataset(name)
    known = KnownDataset(dataset.manifest_hash, {clip: dataset.clip(clip).category for clip in dataset.clip_ids()})
    return DatasetFacts(
        name=name,
        title=manifest.title,
        licence=manifest.licence,
        known=known,
        homepage=manifest.homepage,
        citation=manifest.citation,
    )
