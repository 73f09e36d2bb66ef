"""The datasets of the page ``/datasets``: every manifest of the program, and every state that the service knows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from sqlalchemy import select
from sqlalchemy.orm import Session

from codec_superb.data_manifests.catalogue import list_manifests
from codec_superb.data_manifests.manifest import HuggingFaceSource, LocalSource, Manifest
from codec_superb.metrics.table import CATEGORIES, Category
from codec_superb.server.board.snapshot import Snapshot
from codec_superb.server.database.models import Dataset
from codec_superb.web.site.datasets_page import DatasetView


def dataset_views(session: Session, snapshot: Snapshot) -> list[DatasetView]:
    """List all datasets by title; the state registered with the service has precedence over the manifest."""
    known = {row.name: row for row in session.scalars(select(Dataset).where(Dataset.current))}
    codecs = _codecs_by_dataset(snapshot)
    manifests = {manifest.name: manifest for manifest in _manifests()}
    views = [_view(name, manifests.get(name), known.get(name), codecs) for name in known.keys() | manifests.keys()]
    return sorted(views, key=lambda view: view.title.casefold())


@cache
def _manifests() -> tuple[Manifest, ...]:
    return tuple(list_manifests())


def _codecs_by_dataset(snapshot: Snapshot) -> dict[str, int]:
    """Count codecs with public submissions on each dataset."""
    on = [{name for _, name in entry.figures if name} for entry in snapshot.entries("runs")]
    return {name: sum(name in names for names in on) for name in set().union(*on)}


def _view(name: str, manifest: Manifest | None, row: Dataset | None, codecs: Mapping[str, int]) -> DatasetView:
    counts = {} if row is None else {key: int(row.counts[key]) for key in CATEGORIES if row.counts.get(key)}
    categories: tuple[Category, ...] = tuple(each for each in CATEGORIES if each in counts)
    if row is None:
        assert manifest is not None  # the name is from one of the two
        categories = manifest.categories
    title, licence, homepage, citation = _credits(manifest, row)
    expected = manifest.expected_clips if manifest else None
    return DatasetView(
        name=name,
        title=title,
        categories=categories,
        licence=licence,
        homepage=homepage,
        citation=citation,
        description=manifest.description if manifest else "",
        counts=counts,
        published_clips=expected.count if expected else None,
        sampling_rate=manifest.sampling_rate if manifest else None,
        partition=manifest.partition.text if manifest else "",
        access=_access(manifest) if manifest else "",
        manifest_hash="" if row is None else row.manifest_hash,
        codecs=codecs.get(name, 0),
    )


def _credits(manifest: Manifest | None, row: Dataset | None) -> tuple[str, str, str | None, str | None]:
    """Title, licence, homepage and citation: as registered, else as in the manifest."""
    source = row or manifest
    assert source is not None
    return source.title, source.licence, source.homepage, source.citation or (manifest.citation if manifest else None)


def _access(manifest: Manifest) -> str:
    source = manifest.source
    if manifest.download:
        return f"codec-superb datasets prepare {manifest.name}"
    if isinstance(source, LocalSource):
        return source.access or "from the publisher"
    if isinstance(source, HuggingFaceSource):
        return f"Hugging Face, {source.repo}"
    return f"codec-superb datasets prepare {manifest.name}"
