"""What the API answers about codecs; the text under a field is its description in ``/api/docs``."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from codec_superb.metrics.table import Category


class ApiModel(BaseModel):
    """Base of the answers."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class Estimate(ApiModel):
    """A mean over clips, or an overall score."""

    value: float | None
    """None when no clip gave a value."""
    low: float | None = None
    """Lower end of the 95 % bootstrap interval."""
    high: float | None = None
    """Upper end."""
    n: int = 0
    """Clips with a value."""
    undefined: int = 0
    """Clips on which the metric has no meaning."""
    failed: int = 0
    """Clips whose metric crashed, or that have no resynthesis."""
    sd: float | None = None
    """Sample standard deviation over the clips; None over several datasets."""


class CategoryScore(ApiModel):
    """One category in the list of codecs."""

    category: Category
    score: float | None
    """Overall score, 0 to 1; None where one of its metrics has no value."""
    kbps: float | None
    """Measured bitrate."""
    complete: bool
    """No clip failed and none is missing."""


class CodecSummary(ApiModel):
    """One codec in the list."""

    name: str
    title: str
    family: str
    kind: str
    """``classical``, ``neural`` or ``lossless``."""
    nominal_kbps: float | None
    submission: str
    """Id of the newest public version of its results."""
    version: int
    status: str
    """``published`` or ``verified``."""
    received: str
    """ISO date."""
    categories: list[CategoryScore]


class CodecList(ApiModel):
    """One page of the codecs with public results, by name."""

    total: int
    """Codecs over all pages."""
    limit: int
    offset: int
    codecs: list[CodecSummary]


class Results(ApiModel):
    """Results in one category, over all datasets or on one."""

    datasets: list[str]
    """Names of the datasets they rest on."""
    complete: bool
    clips: int
    """Clips that the runs were asked for."""
    failed: int
    """Clips without a resynthesis."""
    kbps: float | None
    """Measured: all bits over all seconds."""
    tokens_per_second: float | None
    compression_ratio: float | None
    """Against 16-bit PCM at the clips' own rates."""
    encode_rtf: float | None
    """Seconds of encoding per second of audio."""
    decode_rtf: float | None
    largest_lag: int | None
    """Samples."""
    clipped_samples: int
    score: Estimate
    metrics: dict[str, Estimate]


class BandMember(ApiModel):
    """Another codec of about the same bitrate."""

    name: str
    title: str
    kbps: float | None


class BitrateBand(ApiModel):
    """Codecs whose measured bitrate is about the same, on the same datasets."""

    low: float
    """kbps"""
    high: float
    members: list[BandMember]
    other_datasets: int
    """Codecs left out because they were measured on other datasets."""


class CategoryResults(ApiModel):
    """Everything of one category."""

    category: Category
    overall: Results
    datasets: list[Results]
    """One entry a dataset."""
    band: BitrateBand | None
    """None where the bitrate is not known."""


class ListeningSample(ApiModel):
    """A clip to listen to."""

    clip: str
    dataset: str
    category: str
    licence: str
    attribution: str
    reference: str
    """Path of the original, Ogg Opus."""
    resynthesis: str
    """Path of what the codec made of it."""
    spectrograms: dict[str, str]
    """Paths of PNG pictures: ``reference``, ``resynthesis``, ``difference``."""


class CodecVersion(ApiModel):
    """One version of the codec's results."""

    submission: str
    version: int
    status: str
    received: str
    """ISO date."""
    submitter: str
    reason: str
    """Why it was accepted or withdrawn, where somebody gave a reason."""


class CurrentVersion(CodecVersion):
    """The version whose results are shown."""

    complete: bool
    """No clip failed and no dataset was cut short."""
    file_sha256: str
    """Of the submission's file."""
    metrics: dict[str, str]
    """Metric key to version of its definition."""


class PublishedFigures(ApiModel):
    """What a published table says of this very configuration; not re-run here."""

    table: str
    id: str
    """Of the codec in the table."""
    citation: str
    url: str
    statement: str
    kbps: float | None
    """As stated, not measured."""
    scores: dict[str, float]
    metrics: dict[str, dict[str, float]]
    """By category and metric key."""
    applications: dict[str, float]
    dataset_applications: dict[str, dict[str, float]]


class CodecDetail(ApiModel):
    """One codec with all of its public results."""

    name: str
    title: str
    family: str
    card: dict[str, Any] | None
    """The codec's card; None for a codec that only published tables know."""
    submission: CurrentVersion | None
    """The newest public version of its results; None for a codec that only published tables know."""
    datasets: list[dict[str, Any]]
    """With manifest hashes, counts and the provenance of each stage, as in ``submission.json``."""
    categories: list[CategoryResults]
    samples: list[ListeningSample]
    history: list[CodecVersion]
    published: list[PublishedFigures]


class FigureAnswer(ApiModel):
    """A Plotly figure in the colours of the light palette."""

    data: list[dict[str, Any]]
    layout: dict[str, Any]
