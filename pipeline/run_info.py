"""``run.json``: what a run was asked to do, with which program, and how far it came."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from codec_superb.base_codec.card import Card

RUN_FORMAT = 1


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DatasetInfo(_Model):
    """The dataset of a run, as it was when the run began."""

    name: str
    title: str
    manifest_hash: str
    """SHA-256 over clip ids, audio and labels."""
    clips: int
    """Clips in the whole dataset."""
    selected: int
    """Clips this run was asked for (``--limit``)."""
    licence: str
    homepage: str | None = None
    citation: str | None = None
    location: str | None = None
    """Folder of a dataset that is not a named one, so that ``score`` finds the references again; never packed."""
    category: Literal["speech", "audio", "music"] | None = None
    """What the user said such a folder holds."""


class Provenance(_Model):
    """Stamp of one stage: enough to run it again."""

    stage: Literal["resynth", "score"]
    tool_version: str
    commit: str | None
    """Of the source checkout, None for an installed wheel."""
    dirty: bool | None
    python: str
    platform: str
    processor: str
    device: str
    packages: dict[str, str]
    command: str
    started: str
    """ISO 8601, UTC."""


class RunInfo(_Model):
    """Contents of ``run.json``."""

    format: Literal[1] = 1
    card: Card
    dataset: DatasetInfo
    spec_hash: str
    """SHA-256 over format, card and manifest hash: what is finished is computed again only when this changes."""
    status: Literal["started", "resynthesised", "scored"]
    metrics: dict[str, str] = Field(default_factory=dict)
    """Metric key to version of its definition, of the last complete scoring."""
    provenance: tuple[Provenance, ...] = ()


def spec_hash(card: Card, manifest_hash: str, source: bytes = b"") -> str:
    """Hash what decides a run's rows: format, card with its settings, dataset, and the file of a codec given as one.

    A codec of the catalogue is bound by its card (library, version, settings); ``path/to/file.py:Class`` by the file.
    """
    spec = {
        "format": RUN_FORMAT,
        "card": card.model_dump(mode="json", exclude_defaults=True),  # a new optional field changes no run
        "manifest_hash": manifest_hash,
        "source": hashlib.sha256(source).hexdigest() if source else None,
    }
    return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()


def codec_source(codec: str) -> bytes:
    """Return the content of the file of a codec given as ``path/to/file.py:Class``, nothing for a named one."""
    path = Path(codec.rpartition(":")[0])
    return path.read_bytes() if ":" in codec and path.is_file() else b""
