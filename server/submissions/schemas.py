"""Schemas of the API's answers about accepted submissions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from codec_superb.metrics.results import ResultSummary
from codec_superb.metrics.table import Category
from codec_superb.server.http.api_model import ApiModel
from codec_superb.server.ingest.schemas import Status


class SubmissionItem(ApiModel):
    """One public submission, in a list."""

    id: str
    codec: str
    version: int
    """Of this codec's results here, counted from 1."""
    status: Status
    received: datetime
    submitter: str
    """Account that sent it, or ``anonymous``."""
    submitter_in_file: str
    """Whom the file names, in its own words; '' without one."""
    datasets: list[str]
    clips: int
    ok: int
    failed: int
    complete: bool
    """No clip failed and no dataset was cut short."""
    custom: bool
    """On datasets that are not of the benchmark: shown as custom, never ranked."""
    condition: str
    """What it was made under, '' for clean results; those under a condition are never ranked."""


class SubmissionList(ApiModel):
    """A page of the list."""

    total: int
    page: int
    per_page: int
    submissions: list[SubmissionItem]


class CategoryResults(ApiModel):
    """Everything of one category."""

    category: Category
    overall: ResultSummary
    """Over all datasets."""
    datasets: list[ResultSummary]
    """On each dataset."""


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
    """``submission.json`` without card and aggregates: datasets with provenance, samples. Titles, licences and
    citations of datasets are those registered here; of custom datasets they are the file's own words."""
    notes: list[str]
    reason: str | None
    """The moderator's reason for accepting it."""
    results: list[CategoryResults]


class SubmissionVersion(ApiModel):
    """One version of a codec's results in its history."""

    version: int
    id: str | None
    """None for one that was withdrawn."""
    custom: bool
    """On datasets that are not of the benchmark: shown as custom, never ranked."""
    condition: str
    """What it was made under, '' for clean results; those under a condition are never ranked."""
    status: Status
    received: datetime
    decided: datetime | None
    reason: str | None
    """Why it was accepted, rejected or withdrawn."""


class History(ApiModel):
    """The versions of a codec's results, newest first, without those that wait for a moderator or never were public."""

    codec: str
    total: int
    page: int
    per_page: int
    versions: list[SubmissionVersion]


class Change(ApiModel):
    """One thing that differs; None where one side does not have it."""

    what: str
    old: Any
    new: Any


class AggregateChange(ApiModel):
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


class Diff(ApiModel):
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
