"""The content of ``run.json``: specification, provenance and status of a run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from math import inf, isfinite
from pathlib import PurePath
from typing import Annotated, Any, Literal

from pydantic import Field, FiniteFloat, SerializerFunctionWrapHandler, StringConstraints, model_serializer

from codec_superb.applications.results import ProbeInfo
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.isolation.lock import own_file
from codec_superb.base_codec.live import is_live, live
from codec_superb.metrics.results import Operations
from codec_superb.metrics.table import Category, Metric
from codec_superb.pipeline.conditions.record import Condition
from codec_superb.pipeline.runs.shard import Shard
from codec_superb.pipeline.tables import strict_json
from codec_superb.plugins import file_of, is_file_name
from codec_superb.record import Record

RUN_FORMAT = 1
Moment = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|\+00:00)$")]
"""ISO 8601 in UTC, to the microsecond at most."""
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]


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
    """Clips requested for this run (``--limit``); of a shard, for all shards together."""
    licence: str
    """Licence of the dataset as a whole."""
    homepage: str | None = None
    """Page of its publication."""
    citation: str | None = None
    """Publication to cite."""
    location: str | None = None
    """How ``score`` opens a dataset that is not one of the benchmark's: folder, manifest, or name; never packed."""
    category: Category | None = None
    """Category of such a folder, as given by the user."""
    only: tuple[str, ...] | None = None
    """The clips, of a run of clips that were named; never packed. None for the whole dataset and for ``--limit``."""

    shard: Shard | None = None
    """Which part of the requested clips a run has (``--shard``); None for all of them."""

    @model_serializer(mode="wrap")
    def _without_empty(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave newer fields out where they have nothing: an ordinary run keeps its bytes."""
        written: dict[str, Any] = handler(self)
        for name in ("only", "shard"):
            if getattr(self, name) is None:
                written.pop(name, None)
        return written


class TakenOver(Record):
    """What was done to sound that was resynthesised elsewhere when it became a run."""

    files: int = Field(ge=0)
    """Files that became resyntheses."""
    fitted: int = Field(ge=0)
    """How many of them were cut, or padded with silence, at their end."""
    longest_ms: FiniteFloat = Field(ge=0)
    """Largest such change in milliseconds."""
    resampled: int = Field(ge=0)
    """How many of them were resampled to the rate of their reference."""


class Provenance(Record):
    """Provenance of one stage: program, machine, packages and command, enough to repeat it."""

    stage: Literal["resynth", "imported", "score", "probe"]
    """Stage that was run; ``imported``: sound that was resynthesised elsewhere was taken over."""
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
    taken_over: TakenOver | None = None
    """What became of the files; absent but for ``imported``."""
    command: str
    """The command line."""
    started: Moment
    """ISO 8601, UTC."""

    @model_serializer(mode="wrap")
    def _without_empty(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave the newer field out where it has nothing: a stamp of another stage keeps its bytes."""
        written: dict[str, Any] = handler(self)
        if self.taken_over is None:
            written.pop("taken_over", None)
        return written


def is_imported(stamps: Iterable[Provenance]) -> bool:
    """Whether sound that was resynthesised elsewhere was taken over."""
    return any(stamp.stage == "imported" for stamp in stamps)


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
            # JSON has no infinity: a limit that does not exist is null
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


class Predicted(Record):
    """A call of ``probe`` that a shard has answered: what is scored once for all shards, when they are merged."""

    applications: tuple[str, ...]
    """As they were named."""
    backends: dict[str, str]
    """Which backend was chosen for each probe."""
    tasks: tuple[str, ...] = ()
    """Files and folders of tasks of one's own."""
    weights: str | None = None
    """Folder of models."""
    judge: str = ""
    """Who judges the answers of judged tasks."""
    models: dict[str, str] = Field(default_factory=dict)
    """Hash of the identity of the model that answered, by probe."""


class RunInfo(Record):
    """Contents of ``run.json``."""

    format: Literal[1] = 1
    card: Card
    dataset: DatasetInfo
    condition: Condition | None = None
    """What the run was made under; None for a clean run."""
    spec_hash: str
    """SHA-256 over format, card, manifest hash and condition: finished clips are computed again only when this
    changes."""
    status: Literal["started", "resynthesised", "scored"]
    metrics: dict[str, str] = Field(default_factory=dict)
    """Metric key to version of its definition, of the last complete scoring."""
    custom_metrics: dict[str, CustomMetric] = Field(default_factory=dict)
    """Those of ``metrics`` that are not of the benchmark's table; their versions tell the file or the distribution."""
    probes: dict[str, ProbeInfo] = Field(default_factory=dict)
    """By probe key, of the last complete probe stage; one backend per probe."""
    predicted: tuple[Predicted, ...] = ()
    """Of a shard: what was asked of models, for all of its clips; it has no ``probes``."""
    codec_files: dict[str, str] = Field(default_factory=dict)
    """SHA-256 of the files that a codec given as a file read until it was loaded, by path (relative to the codec's file
    where they lie below it); never packed."""
    operations: Operations | None = None
    """What the codec computes for a clip; None for one that is not neural, and for a run of an earlier version."""
    provenance: tuple[Provenance, ...] = ()

    @property
    def title(self) -> str:
        """Codec, with the condition where there is one."""
        return titled(self.card, self.condition)

    @model_serializer(mode="wrap")
    def _without_empty(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave newer fields out where they have nothing: a clean run of a classical codec keeps its bytes."""
        written: dict[str, Any] = handler(self)
        for name in ("condition", "operations", "predicted"):
            if not getattr(self, name):
                written.pop(name, None)
        return written


def titled(card: Card, condition: Condition | None) -> str:
    """Name a codec, with the condition where there is one."""
    return card.name if condition is None else f"{card.name} under {condition.label}"


def spec_hash(card: Card, manifest_hash: str, source: bytes = b"", condition: Condition | None = None) -> str:
    """Hash everything that determines a run's rows: format, card, dataset, condition, and the user's own files.

    A codec of the catalogue is identified by its card (library, version, settings), ``path/to/file.py:Class`` by the
    content of the file.
    """
    spec: dict[str, Any] = {
        "format": RUN_FORMAT,
        "card": card.identity(),
        "manifest_hash": manifest_hash,
        "source": hashlib.sha256(source).hexdigest() if source else None,
    }
    if condition is not None:
        # what a decoder does about lost packets counts where some are lost
        conceals = card.conceals_loss if condition.kind.key == "loss" else None
        spec["condition"] = condition.model_dump(mode="json") | ({"conceals_loss": conceals} if conceals else {})
    return strict_json.digest(spec)


def codec_source(codec: str, card: Card) -> bytes:
    """Return the content of a codec's files that belong to the user: ``path/to/file.py:Class``, a guest, a lock.

    Of a codec that lives in this process alone it is the identity that it was registered with.
    """
    if is_live(codec):
        return live(codec).identity
    files = [file_of(codec)] if is_file_name(codec) else []
    # the guest and its lock are part of the codec: an edited one makes another run
    if card.isolation is not None:
        files += filter(None, [own_file(card.isolation.guest, ".py"), own_file(card.isolation.lock, ".txt")])
    return b"".join(file.read_bytes() for file in files)
