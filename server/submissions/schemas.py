"""What the API says about accepted submissions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from codec_superb.server.ingest.schemas import Status


class _Answer(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)


class SubmissionItem(_Answer):
    """One public submission, in a list."""

    id: str
    codec: str
    version: int
    """Of this codec's results here, counted from 1."""
    status: Status
    received: datetime
    submitter: str
    """As named in the file; '' where nobody is."""
    datasets: list[str]
    clips: int
    ok: int
    failed: int
    complete: bool
    """No clip failed and no dataset was cut short."""


class SubmissionList(_Answer):
    """A page of the list."""

    total: int
    page: int
    per_page: int
    submissions: list[SubmissionItem]


class ResultItem(_Answer):
    """Aggregates for one category, over all datasets (``dataset`` is '') or on one."""

    category: str
    dataset: str
    datasets: list[str]
    complete: bool
    clips: int
    ok: int
    failed: int
    seconds: float
    """Audio of the clips that are ok."""
    kbps: float | None
    """Measured: all bits over all seconds."""
    tokens_per_second: float | None
    compression_ratio: float | None
    encode_rtf: float | None
    decode_rtf: float | None
    largest_lag: int | None
    clipped_samples: int
    score: float | None
    low: float | None
    """Lower end of the 95 % bootstrap interval."""
    high: float | None
    metrics: dict[str, dict[str, float | int | None]]
    """Metric key to value, low, high, n, undefined, failed, sd."""


class SubmissionDetail(SubmissionItem):
    """Everything public about one submission."""

    created: str
    """When its last stage ran."""
    file_sha256: str
    """Of the file as it was received."""
    file_size: int
    """Bytes."""
    card: dict[str, Any]
    metrics: dict[str, str]
    """Metric key to version of its definition."""
    document: dict[str, Any]
    """``submission.json`` without card and aggregates: datasets with provenance, samples."""
    notes: list[str]
    reason: str | None
    """Why it was accepted, where a moderator said so."""
    results: list[ResultItem]


class SubmissionVersion(_Answer):
    """One version of a codec's results in its history."""

    version: int
    id: str | None
    """None for one that was withdrawn."""
    status: Status
    received: datetime
    decided: datetime | None
    reason: str | None
    """Why it was accepted, rejected or withdrawn."""


class History(_Answer):
    """The versions of a codec's results, newest first, but those that wait for a moderator."""

    codec: str
    versions: list[SubmissionVersion]


class Change(_Answer):
    """One thing that differs; None where one side does not have it."""

    what: str
    old: Any
    new: Any


class AggregateChange(_Answer):
    """One aggregate in both versions."""

    category: str
    dataset: str
    """'' for all datasets of the category."""
    quantity: str
    """``score``, ``kbps``, … or a metric's key."""
    old: float | None
    new: float | None
    difference: float | None
    """``new - old``; None where one of them is missing."""


class Diff(_Answer):
    """What changed from one version to another."""

    codec: str
    old: SubmissionItem
    new: SubmissionItem
    card: list[Change]
    """Fields of the card."""
    datasets: list[Change]
    """Datasets added, removed, or with another manifest or other counts."""
    metrics: list[Change]
    """Versions of metric definitions."""
    aggregates: list[AggregateChange]
    """Every aggregate of either version, changed or not."""
