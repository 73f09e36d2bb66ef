"""Describe a dataset of this machine as the service keeps it, for ``admin datasets`` and for local runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codec_superb.server.datasets.service import DatasetFacts


def facts_of_prepared(name: str, *, metrics: bool = True) -> DatasetFacts:
    """Describe a named dataset as it is prepared on this machine.

    Every clip is decoded and its metrics are computed once; without ``metrics`` only the headers of files are read.
    Raises UnknownDataset for a name without a manifest, DatasetNotPrepared with the command that prepares it.
    """
    from codec_superb.data_manifests import open_dataset
    from codec_superb.data_manifests.catalogue import load_manifest
    from codec_superb.pipeline.submission.known_datasets import facts_of_dataset
    from codec_superb.server.datasets.service import DatasetFacts

    manifest = load_manifest(name)  # first: a folder of this name is not meant
    dataset = open_dataset(name)
    return DatasetFacts(
        name=name,
        title=manifest.title,
        licence=manifest.licence,
        known=facts_of_dataset(dataset, metrics=metrics),
        homepage=manifest.homepage,
        citation=manifest.citation,
    )
