"""From clip rows to what is ranked: clip → dataset → category, each with counts and intervals.

A dataset of several categories (``mini``) is aggregated per category. Aggregates are always computed from rows,
here and on the server; nobody's own numbers are believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from codec_superb.pipeline.rows import ClipRow

Category = Literal["speech", "audio", "music"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class MetricAggregate(_Model):
    """Mean of one metric over the defined clips of one dataset and category."""

    n: int
    """Clips with a value."""
    undefined: int
    failed: int
    """Clips whose metric crashed or that have no resynthesis."""
    mean: FiniteFloat | None
    sd: FiniteFloat | None
    low: FiniteFloat | None
    """95 % bootstrap interval of the mean."""
    high: FiniteFloat | None


class Score(_Model):
    """An overall score with its 95 % bootstrap interval; None when one of its metrics has no mean."""

    value: FiniteFloat | None
    low: FiniteFloat | None
    high: FiniteFloat | None


class DatasetAggregate(_Model):
    """One codec on one dataset, one category of it."""

    dataset: str
    category: Category
    clips: int
    ok: int
    failed: int
    complete: bool
    """No clip failed and none is missing."""
    seconds: FiniteFloat
    bits: int
    kbps: FiniteFloat | None
    """All bits over all seconds of the clips that are ok."""
    tokens_per_second: FiniteFloat | None
    compression_ratio: FiniteFloat | None
    encode_rtf: FiniteFloat | None
    decode_rtf: FiniteFloat | None
    largest_lag: int | None
    clipped_samples: int
    metrics: dict[str, MetricAggregate]
    score: Score


class CategoryAggregate(_Model):
    """One codec in one category, over its datasets."""

    category: Category
    datasets: tuple[str, ...]
    complete: bool
    kbps: FiniteFloat | None
    score: Score
    """Harmonic mean of the dataset scores."""


class Aggregates(_Model):
    """All of one codec."""

    datasets: tuple[DatasetAggregate, ...] = Field(default_factory=tuple)
    categories: tuple[CategoryAggregate, ...] = Field(default_factory=tuple)


def aggregate(rows: Sequence[ClipRow], *, metrics: Sequence[str], seed: int = 0, replicates: int = 1000) -> Aggregates:
    """Aggregate the rows of one codec; deterministic in ``rows`` (any order) and ``seed``."""
    raise NotImplementedError  # the statistics branch
