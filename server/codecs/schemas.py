"""Schemas of the API's answers about codecs; the text under a field is its description in ``/api/docs``."""

from __future__ import annotations

from typing import Any

from codec_superb.metrics.results import BitSource
from codec_superb.metrics.table import Category
from codec_superb.server.http.api_model import ApiModel
from codec_superb.server.leaderboard.schemas import ApplicationAnswer
from codec_superb.server.submissions.schemas import CategoryResults
from codec_superb.web.site.whose import ShownSource


class CategoryScore(ApiModel):
    """One category in the list of codecs."""

    category: Category
    score: float | None
    """Overall score, 0 to 1; None where one of its metrics has no value."""
    kbps: float | None
    """Bitrate, see ``bit_source``."""
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
    bit_source: BitSource
    """Where its bitrates come from: ``measured``, ``declared`` or ``unknown``."""
    submission: str
    """Id of the newest public version of its results."""
    version: int
    status: str
    """``self-reported`` or ``verified``."""
    submitter: str
    """Account that sent it, or ``anonymous``."""
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
    source: ShownSource
    """`verified` where all of them were run again, which are taken where they are three or more; else `runs`."""


class CodecCategory(CategoryResults):
    """Everything of one category, and the codecs of about the same bitrate."""

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
    """Account that sent it, or ``anonymous``; '' for what is withdrawn."""
    submitter_in_file: str
    """Whom the file names, in its own words."""
    reason: str
    """The moderator's reason for accepting or withdrawing it."""
    custom: bool = False
    """On datasets that are not of the benchmark: never the current version."""


class CurrentVersion(CodecVersion):
    """The version whose results are shown."""

    complete: bool
    """No clip failed and no dataset was cut short."""
    file_sha256: str
    """Of the submission's file."""
    metrics: dict[str, str]
    """Metric key to version of its definition."""


class PublishedFigures(ApiModel):
    """Figures of this configuration in a published table; not re-run here."""

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
    categories: list[CodecCategory]
    samples: list[ListeningSample]
    history: list[CodecVersion]
    published: list[PublishedFigures]


class CodecMseb(ApiModel):
    """All figures of one codec."""

    codec: str
    figures: list[ApplicationAnswer]
    """On each dataset."""
    slices: list[ApplicationAnswer]
    """The same on the clips of one recording condition."""
