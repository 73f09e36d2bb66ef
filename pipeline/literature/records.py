"""Types of published tables and their rows. A value that a table does not state is None or absent, never estimated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from codec_superb.metrics.table import Category

TableName = Literal["table3", "tiny", "ultraeval"]
TABLES: tuple[TableName, ...] = get_args(TableName)
STATEMENT = "Published, not re-run here."


@dataclass(frozen=True, slots=True)
class PublishedCodec:
    """One codec of a published table."""

    id: str
    """Name in the table: ``E3``, ``encodec_24k_6bps``, ``Mimi (8bit)``."""
    name: str
    """Display name."""
    family: str
    """Family as in the cards of this package where it has such a codec."""
    kbps: float | None
    """Bitrate as stated in the table, not measured; None where it is not stated."""
    sampling_rate: int | None
    """Hz at which the codec works; None where its name does not give it."""
    configuration: str
    """Description of the configuration as published."""
    runs_as: tuple[str, ...] = ()
    """Codecs of this package's catalogue that are the same configuration."""
    same_as: str | None = None
    """Id in ``table3`` of the same configuration."""
    scores: Mapping[Category, float] = field(default_factory=dict)
    """Overall scores."""
    dataset_scores: Mapping[Category, Mapping[str, float]] = field(default_factory=dict)
    """Overall scores by dataset, named as in the manifests."""
    metrics: Mapping[Category, Mapping[str, float]] = field(default_factory=dict)
    """Means by metric key."""
    applications: Mapping[str, float] = field(default_factory=dict)
    """Application metrics by key of :data:`codec_superb.web.applications.APPLICATIONS`."""
    dataset_applications: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The same by dataset."""


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table of a paper or repository."""

    name: TableName
    label: str
    """Short name, for menus and legends."""
    title: str
    citation: str
    url: str
    differs: tuple[str, ...]
    """How its figures differ from those of submissions, one sentence per difference."""
    codecs: tuple[PublishedCodec, ...]
    datasets: Mapping[Category, tuple[str, ...]]
    """Datasets of its scores by category, as far as they are stated."""
    computed_scores: bool = False
    """True where the overall scores were computed by this package from the published means of the metrics."""
    ceiling: Mapping[str, float] = field(default_factory=dict)
    """Application metrics on the original audio."""
    statement: str = STATEMENT

    def codec(self, identifier: str) -> PublishedCodec:
        """Find a codec by its id. Raises KeyError."""
        for codec in self.codecs:
            if codec.id == identifier:
                return codec
        raise KeyError(f"{self.name} has no codec {identifier!r}")
