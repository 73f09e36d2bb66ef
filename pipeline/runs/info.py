"""``run.json``: what a run was asked to do, with which program, and how far it came."""

from __future__ import annotations

import hashlib
from math import inf, isfinite
from pathlib import PurePath
from typing import Annotated, Literal

from pydantic import Field, FiniteFloat, StringConstraints

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.isolation.lock import own_file
from codec_superb.metrics.table import Category, Metric
from codec_superb.pipeline.tables import strict_json
from codec_superb.pipeline.tables.record import Record
from codec_superb.plugins import file_of, is_file_name

RUN_FORMAT = 1
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class DatasetInfo(Record):
    """The dataset of a run, as it was when the run began."""

    name: str
    """Of the manifest, or of the folder."""
    title: str
    """Name for people."""
    manifest_hash: str
    """SHA-256 over clip ids, audio and labels."""
    clips: int
    """Clips in the whole dataset."""
    selected: int
    """Clips this run was asked for (``--limit``)."""
    licence: str
    """Of the dataset as a whole."""
    homepage: str | None = None
    """Where it is published."""
    citation: str | None = None
    """How to cite it."""
    location: str | None = None
    """How ``score`` opens a dataset that is none of the benchmark's: folder, manifest, or name; never packed."""
    category: Category | None = None
    """What the user said such a folder holds."""


class Provenance(Record):
    """Stamp of one stage: enough to run it again."""

    stage: Literal["resynth", "score", "probe"]
    """What was done."""
    tool_version: str
    """Version of this package."""
    commit: str | None
    """Of the source checkout, None for an installed wheel."""
    dirty: bool | None
    """Whether the checkout held changes that are not in the commit."""
    python: str
    """Implementation and version."""
    platform: str
    """Operating system, as Python names it."""
    processor: str
    """As its maker names it."""
    device: str
    """``cpu`` or ``cuda``."""
    batch_seconds: FiniteFloat | None = None
    """Seconds of sound that were coded together at most; none where clips were coded one by one."""
    packages: dict[str, str]
    """Versions of the packages that can change a number, by name."""
    backends: dict[str, str] = Field(default_factory=dict)
    """Implementation that ran, of each metric that has more than one; empty for resynth."""
    command: str
    """The command line."""
    started: str
    """ISO 8601, UTC."""


class ProbeInfo(Record):
    """How a probe was run: what a reader must know before comparing two results of it."""

    probe: str
    """Key of the probe."""
    version: str
    """Version of its definition."""
    backend: str
    """Model that answered, such as ``faster-whisper:tiny.en``."""
    model_sha256: str
    """Of the model's files."""
    random: bool = False
    """Whether nobody trained the model: such a result is never packed."""
    settings: dict[str, str | int | float | bool] = Field(default_factory=dict)
    """Decoding, normaliser, trial list and seed, parameters of a cost."""


class CustomMetric(Record):
    """What a metric that is not of the benchmark's table says of itself: shown beside the others, never ranked."""

    label: Name
    """Name for people."""
    unit: Annotated[str, StringConstraints(max_length=20)] = ""
    """'' for a plain number."""
    higher_is_better: bool
    """Direction."""
    minimum: FiniteFloat | None = None
    """Least value that it can have; None where there is none."""
    maximum: FiniteFloat | None = None
    """Largest value that it can have; None where there is none."""
    worst: FiniteFloat | None = None
    """Where it stands at 0 on a shared scale; None for a distance without a largest value."""
    best: FiniteFloat
    """Where it stands at 1."""
    definition: Annotated[str, StringConstraints(max_length=1000)]
    """One sentence for people."""
    paper: Annotated[str, StringConstraints(max_length=1000)] = ""
    """Where it is defined."""
    origin: Name
    """Distribution with its version, or the name of a file."""
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None
    """Of that file."""

    @classmethod
    def of(cls, row: Metric) -> CustomMetric:
        """Describe a plug-in's row."""
        limits = {name: _finite(getattr(row, name)) for name in ("minimum", "maximum", "worst")}
        return cls(
            label=row.label, unit=row.unit, higher_is_better=row.higher_is_better, best=row.best,
            definition=row.definition, paper=row.paper, sha256=row.sha256 or None,
            origin=PurePath(row.origin).name if row.sha256 else row.origin, **limits,
        )  # fmt: skip

    def row(self, key: str, version: str) -> Metric:
        """Return a row to show it by; nothing can be computed with it."""
        return Metric(
            key=key, label=f"{self.label} (custom)", unit=self.unit, higher_is_better=self.higher_is_better,
            minimum=-inf if self.minimum is None else self.minimum,
            maximum=inf if self.maximum is None else self.maximum,
            worst=inf if self.worst is None else self.worst, best=self.best, overall=(), default=False,
            version=version, definition=self.definition, paper=self.paper, target="", origin=self.origin,
            sha256=self.sha256 or "",
        )  # fmt: skip


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


class RunInfo(Record):
    """Contents of ``run.json``."""

    format: Literal[1] = 1
    card: Card
    dataset: DatasetInfo
    spec_hash: str
    """SHA-256 over format, card and manifest hash: what is finished is computed again only when this changes."""
    status: Literal["started", "resynthesised", "scored"]
    metrics: dict[str, str] = Field(default_factory=dict)
    """Metric key to version of its definition, of the last complete scoring."""
    custom_metrics: dict[str, CustomMetric] = Field(default_factory=dict)
    """Those of ``metrics`` that are not of the benchmark's table; their versions tell the file or the distribution."""
    probes: dict[str, ProbeInfo] = Field(default_factory=dict)
    """By probe key, of the last complete probing; one backend a probe."""
    provenance: tuple[Provenance, ...] = ()


def spec_hash(card: Card, manifest_hash: str, source: bytes = b"") -> str:
    """Hash what decides a run's rows: format, card with its settings, dataset, and the user's own files.

    A codec of the catalogue is bound by its card (library, version, settings); ``path/to/file.py:Class`` by the file.
    """
    spec = {
        "format": RUN_FORMAT,
        "card": card.model_dump(mode="json", exclude_defaults=True),  # a new optional field changes no run
        "manifest_hash": manifest_hash,
        "source": hashlib.sha256(source).hexdigest() if source else None,
    }
    return strict_json.digest(spec)


def codec_source(codec: str, card: Card) -> bytes:
    """Return the files of a codec that are the user's own: ``path/to/file.py:Class``, a guest, a lock; else nothing."""
    files = [file_of(codec)] if is_file_name(codec) else []
    if card.isolation is not None:
        files += filter(None, [own_file(card.isolation.guest, ".py"), own_file(card.isolation.lock, ".txt")])
    return b"".join(file.read_bytes() for file in files)
