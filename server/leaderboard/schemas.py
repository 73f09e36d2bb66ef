"""What the API of the leaderboard answers, as documented in the OpenAPI document; a test holds answers against it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from codec_superb.metrics.table import Category
from codec_superb.web.rows import Source
from codec_superb.web.site.board.choices import RankBasis, SourceFilter


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class EstimateAnswer(_Answer):
    """A mean over clips, or the overall score, with its 95 % bootstrap interval."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    """Clips with a value; 0 for a published table, which does not say."""
    undefined: int
    failed: int
    sd: float | None


class ApplicationAnswer(_Answer):
    """One figure of an application on one dataset, with the original sound beside it."""

    dataset: str | None
    """None for a figure over several datasets, and where a paper does not say."""
    value: EstimateAnswer
    """On the resynthesis."""
    reference: EstimateAnswer
    """On the original sound: the ceiling."""
    loss: EstimateAnswer
    """Paired difference, positive where the codec lost."""
    left_out: int
    """Clips without the label that is needed."""
    pairs: int
    """Trials or ranks behind the figure."""
    totals: dict[str, float]
    """Sums of counts, such as ``words`` and ``resynthesis.substitutions``."""
    model: str
    """What answered; figures of different models are not comparable. For a published table its name."""
    model_sha256: str | None
    version: str | None
    """Of the probe's definition."""
    settings: dict[str, str]


class RowAnswer(_Answer):
    """One codec."""

    codec: str
    """Name; ``<table>:<id>`` for a codec of a published table."""
    title: str
    family: str
    category: Category
    source: Source
    source_label: str
    source_url: str | None
    submission: str | None
    received: str | None
    submitter: str
    kind: str
    sampling_rate: int | None
    """Hz."""
    open_weights: bool | None
    causal: bool | None
    rank: tuple[int, int] | None
    """Best and worst."""
    unranked: str
    """Why there is no rank."""
    kbps: float | None
    """Measured; stated, for a published table."""
    nominal_kbps: float | None
    tokens_per_second: float | None
    lossless: bool
    score: EstimateAnswer
    metrics: dict[str, EstimateAnswer]
    applications: dict[str, float | None]
    """Figure to value, on one dataset or over several in one figure; ranked among equal models alone."""
    application_details: dict[str, ApplicationAnswer]
    """What stands behind each of them."""
    datasets: list[str]
    clips: int
    failed: int
    undefined: int
    complete: bool
    largest_lag: int | None
    """Samples."""
    clipped_samples: int
    encode_rtf: float | None
    decode_rtf: float | None
    compression_ratio: float | None


class StateAnswer(_Answer):
    """What was chosen, defaults included."""

    category: Category
    metric: str
    source: SourceFilter
    dataset: str
    kbps_min: float | None
    kbps_max: float | None
    tps_min: float | None
    tps_max: float | None
    rates: list[int]
    open_weights: bool
    causal: bool
    search: str
    sort: str
    descending: bool | None
    page: int


class SourceChoice(_Answer):
    """A source that can be chosen."""

    source: SourceFilter
    label: str
    codecs: int
    """In this category."""


class ChoicesAnswer(_Answer):
    """What can be chosen in this category and source."""

    datasets: list[str]
    metrics: list[str]
    rates: list[int]
    sources: list[SourceChoice]


class BoardAnswer(_Answer):
    """One answer of the leaderboard."""

    query: str
    """What was chosen, as the canonical query of an address."""
    revision: str
    """Changes when the public data do."""
    updated: str | None
    state: StateAnswer
    total: int
    page_size: int
    ranked_datasets: list[str]
    rank_basis: RankBasis
    choices: ChoicesAnswer
    rows: list[RowAnswer] = Field(default_factory=list)


class FigureAnswer(_Answer):
    """A Plotly figure."""

    data: list[dict[str, object]]
    layout: dict[str, object]
