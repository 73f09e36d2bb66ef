"""Titles, licences and citations of datasets as this service knows them, in place of what a file says.

A file names its datasets and says whom to credit; both are the uploader's words. Of a dataset that is registered here
only the registered ones are shown. Those of custom datasets nobody else knows: pages say whose words they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from codec_superb.data_manifests.catalogue import load_manifest
from codec_superb.data_manifests.manifest import PackagesSource
from codec_superb.server.database.models import Dataset
from codec_superb.server.datasets.service import BUILTIN

UNKNOWN = "not known here"
Document = Mapping[str, Any]


def credited(session: Session, document: Document) -> dict[str, Any]:
    """Return a stored document with the registered words about its datasets and samples; a custom one as it is."""
    if document.get("kind") == "custom":  # absent from what was stored before there were custom ones
        return dict(document)
    rows = _rows(session, document)
    return {
        **document,
        "datasets": [{**entry, **_words(entry["name"], rows.get(entry["name"]))} for entry in document["datasets"]],
        "samples": [{**entry, **_credit(entry, rows.get(entry["dataset"]))} for entry in document.get("samples", ())],
    }


def _rows(session: Session, document: Document) -> dict[str, Dataset]:
    """Find the state that the results are on, else the current one."""
    states = {entry["name"]: entry["manifest_hash"] for entry in document["datasets"]}
    found = session.scalars(select(Dataset).where(Dataset.name.in_(states)).order_by(Dataset.current))
    return {row.name: row for row in sorted(found, key=lambda row: row.manifest_hash == states[row.name])}


def _words(name: str, row: Dataset | None) -> dict[str, Any]:
    if row is None:
        return {"title": name, "licence": UNKNOWN, "homepage": None, "citation": None}
    return {"title": row.title, "licence": row.licence, "homepage": row.homepage, "citation": row.citation}


def _credit(sample: Document, row: Dataset | None) -> dict[str, str]:
    if row is None:
        return {"licence": UNKNOWN, "attribution": str(sample["dataset"])}
    clip = _clip_credits(row.name).get(sample["clip"]) if row.name in BUILTIN else None
    licence, attribution = clip or (row.licence, row.title)
    return {"licence": licence, "attribution": attribution}


@cache
def _clip_credits(name: str) -> Mapping[str, tuple[str, str]]:
    """Return licence and attribution of each clip of a dataset that comes with the program, by id."""
    source = load_manifest(name).source
    assert isinstance(source, PackagesSource)
    return {clip.id: (group.licence, group.attribution) for group in source.groups for clip in group.clips}
