"""The content of ``run.json``: specification, provenance and status of a run."""

from __future__ import annotations

import hashlib
from typing import Literal

from pydantic import Field, FiniteFloat

from codec_superb.applications.results import ProbeInfo
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.codec_file import codec_file, is_codec_file
from codec_superb.base_codec.isolation.lock import own_file
from codec_superb.metrics.record import Record
from codec_superb.metrics.table import Category
from codec_superb.pipeline.tables import strict_json

RUN_FORMAT = 1


class DatasetInfo(Record):
    """The dataset of a run, in its state when the run began."""

    name: str
    """Name of the manifest, or of the folder."""
    title: str
    """Display name."""
    manifest_hash: str
    """SHA-256 over clip ids, audio and labels."""
    clips: int
    """Clips in the whole dataset."""
    selected: int
    """Clips requested for this run (``--limit``)."""
    licence: str
    """Licence of the dataset as a whole."""
    homepage: str | None = None
    """Page of its publication."""
    citation: str | None = None
    """Publication to cite."""
    location: str | None = None
    """Folder of a dataset without a manifest, so that ``score`` finds the references again; never packed."""
    category: Category | None = None
    """Category of such a folder, as given by the user."""


class Provenance(Record):
    """Provenance of one stage: program, machine, packages and command, enough to repeat it."""

    stage: Literal["resynth", "score", "probe"]
    """Stage that was run."""
    tool_version: str
    """Version of this package."""
    commit: str | None
    """Commit of the source checkout, None for an installed wheel."""
    dirty: bool | None
    """Whether the checkout had uncommitted changes."""
    python: str
    """Implementation and version."""
    platform: str
    """Operating system, as Python names it."""
    processor: str
    """Model name given by the manufacturer."""
    device: str
    """``cpu`` or ``cuda``."""
    batch_seconds: FiniteFloat | None = None
    """Largest batch in seconds of sound; None where clips were coded one by one."""
    packages: dict[str, str]
    """Versions of the packages that can change a result, by name."""
    backends: dict[str, str] = Field(default_factory=dict)
    """Implementation of each metric that has more than one; empty for resynth."""
    command: str
    """The command line."""
    started: str
    """ISO 8601, UTC."""


class RunInfo(Record):
    """Contents of ``run.json``."""

    format: Literal[1] = 1
    card: Card
    dataset: DatasetInfo
    spec_hash: str
    """SHA-256 over format, card and manifest hash: finished clips are computed again only when this changes."""
    status: Literal["started", "resynthesised", "scored"]
    metrics: dict[str, str] = Field(default_factory=dict)
    """Metric key to version of its definition, of the last complete scoring."""
    probes: dict[str, ProbeInfo] = Field(default_factory=dict)
    """By probe key, of the last complete probe stage; one backend per probe."""
    provenance: tuple[Provenance, ...] = ()


def spec_hash(card: Card, manifest_hash: str, source: bytes = b"") -> str:
    """Hash everything that determines a run's rows: format, card with its settings, dataset, and the user's own files.

    A codec of the catalogue is identified by its card (library, version, settings), ``path/to/file.py:Class`` by the
    content of the file.
    """
    spec = {
        "format": RUN_FORMAT,
        "card": card.model_dump(mode="json", exclude_defaults=True),  # a new optional field changes no run
        "manifest_hash": manifest_hash,
        "source": hashlib.sha256(source).hexdigest() if source else None,
    }
    return strict_json.digest(spec)


def codec_source(codec: str, card: Card) -> bytes:
    """Return the content of a codec's files that belong to the user: ``path/to/file.py:Class``, a guest, a lock."""
    files = [codec_file(codec)] if is_codec_file(codec) else []
    if card.isolation is not None:
        files += filter(None, [own_file(card.isolation.guest, ".py"), own_file(card.isolation.lock, ".txt")])
    return b"".join(file.read_bytes() for file in files)
