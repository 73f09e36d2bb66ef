"""Rows of published tables. What a table does not state is None or absent, never guessed."""

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
    """As in the table: ``E3``, ``encodec_24k_6bps``, ``Mimi (8bit)``."""
    name: str
    """For people."""
    family: str
    """As in the cards of this package where it has such a codec."""
    kbps: float | None
    """As the table states it, not measured; None where it is not stated."""
    sampling_rate: int | None
    """Hz at which the codec works; None where its name does not say."""
    configuration: str
    """As published."""
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
    """By key of :data:`codec_superb.web.applications.APPLICATIONS`."""
    dataset_applications: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The same by dataset."""


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table of a paper or repository."""

    name: TableName
    label: str
    """In a word or two, for pickers and marks."""
    title: str
    citation: str
    url: str
    differs: tuple[str, ...]
    """How its figures differ from those of submissions, a sentence each."""
    codecs: tuple[PublishedCodec, ...]
    datasets: Mapping[Category, tuple[str, ...]]
    """What its scores of a category rest on, as far as it is printed."""
    computed_scores: bool = False
    """The overall scores were computed here, with our formula, from the published means of the metrics."""
    ceiling: Mapping[str, float] = field(default_factory=dict)
    """Applications on the original sound."""
    statement: str = STATEMENT

    def codec(self, identifier: str) -> PublishedCodec:
        """Find a codec by its id. Raises KeyError."""
        for codec in self.codecs:
            if codec.id == identifier:
                return codec
        raise KeyError(f"{self.name} has no codec {identifier!r}")
