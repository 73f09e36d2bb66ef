"""Schemas of the leaderboard's API answers for the OpenAPI document; a test validates answers against them."""

from __future__ import annotations

from pydantic import Field

from codec_superb.applications.results import ApplicationAggregate
from codec_superb.metrics.results import BitSource, Operations, ResultSummary
from codec_superb.server.http.api_model import ApiModel
from codec_superb.web.rows import Source
from codec_superb.web.site.board.choices import BoardState, RankBasis, SourceFilter


class ApplicationAnswer(ApiModel):
    """One figure of an application, and the model behind it."""

    numbers: ApplicationAggregate
    """Without counts and intervals for a published table."""
    model: str
    """What answered; figures of different models are not comparable. For a table ``published:`` and its name."""
    model_sha256: str | None
    version: str | None
    """Of the probe's definition."""
    settings: dict[str, str]
    run_again: bool | None
    """False where the submission is verified, and this figure was not among what was run again; null of one of a table,
    also where a submission's row takes it over."""
    kbps: float | None
    """Of the clips behind the figure, which may be of other categories than the row's; null where it is not known."""


class RowAnswer(ApiModel):
    """One codec."""

    codec: str
    """Name; ``<table>:<id>`` for a codec of a published table."""
    title: str
    family: str
    source: Source
    source_label: str
    """``verified``, ``self-reported by ACCOUNT``, or the citation of the table."""
    source_url: str | None
    submission: str | None
    received: str | None
    submitter: str
    """Account that sent it, or ``anonymous``; '' for published figures."""
    submitter_in_file: str
    """Whom the file names, in its own words."""
    kind: str
    sampling_rate: int | None
    """Hz."""
    open_weights: bool | None
    causal: bool | None
    frame_rate: float | None
    """Frames per second, as the card states; like what follows null or '' where it does not, or there is no card."""
    parameters: int | None
    """Trained ones."""
    latency_ms: float | None
    year: int | None
    licence: str
    paper: str
    rank: tuple[int, int] | None
    """Best and worst."""
    unranked: str
    """Why there is no rank."""
    nominal_kbps: float | None
    bit_source: BitSource
    """Where the bitrate comes from: ``measured`` (counted from what is sent), ``declared``, or ``unknown``."""
    lossless: bool
    undefined: int
    """Clips on which a metric is not defined: of the metric that has most of them."""
    also: list[str]
    """Published figures of this very configuration that the row stands for, where sources are mixed."""
    result: ResultSummary
    """What it reached; of a published table what it states."""
    size_ratio: float | None
    """Payload over 32 bits a sample: half the inverse of ``compression_ratio``."""
    operations: dict[str, Operations]
    """Floating-point operations on a clip of each dataset, as the submitter counted; without those where they are not
    known."""
    applications: dict[str, ApplicationAnswer]
    """By figure, on one dataset or over several in one figure; ranked among equal models alone."""


class SourceChoice(ApiModel):
    """A source that can be chosen."""

    source: SourceFilter
    label: str
    codecs: int
    """In this category."""


class ChoicesAnswer(ApiModel):
    """What can be chosen in this category and source."""

    datasets: list[str]
    metrics: list[str]
    rates: list[int]
    sources: list[SourceChoice]


class BoardAnswer(ApiModel):
    """One answer of the leaderboard."""

    query: str
    """What was chosen, as the canonical query of an address."""
    revision: str
    """Changes when the public data do."""
    updated: str | None
    state: BoardState
    """What was chosen, defaults included."""
    total: int
    page_size: int
    ranked_datasets: list[str]
    rank_basis: RankBasis
    choices: ChoicesAnswer
    rows: list[RowAnswer] = Field(default_factory=list)
