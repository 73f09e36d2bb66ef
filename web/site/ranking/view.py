"""Bands and aggregated ranks as plain typed rows, shared by the page and the API."""

from __future__ import annotations

from dataclasses import dataclass

from codec_superb.metrics.table import Category
from codec_superb.web.site.whose import ShownSource


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A codec of a band that cannot be told from the best one."""

    codec: str
    title: str
    status: str
    submitter: str
    """Account that sent it, or ``anonymous``."""
    score: float
    p: float | None
    """Of the paired t test of clip scores over clusters of shared clips; None where none was made."""
    adjusted: float | None
    """The same after Holm, for all codecs of the band but the best."""
    reason: str
    """Why it cannot be told apart."""


@dataclass(frozen=True, slots=True)
class BandResult:
    """One bitrate band in one category."""

    band: str
    label: str
    low: float
    """Kbps, which belongs to the band."""
    high: float | None
    """Kbps, which does not; None for the last band."""
    codecs: int
    """Ranked codecs in it."""
    best: str | None
    """Codec with the highest score; None in an empty band."""
    title: str
    status: str
    """On whose word its score stands, as in the overall ranking; '' in an empty band."""
    submitter: str
    score: float | None
    separable: bool
    """Whether the best is better than every other for sure: then it is the winner."""
    neighbours: list[Neighbour]
    """Those that it cannot be told from, best first."""


@dataclass(frozen=True, slots=True)
class CategoryBands:
    """All bands of a category."""

    category: Category
    source: ShownSource
    datasets: list[str]
    """What the scores rest on."""
    bands: list[BandResult]


@dataclass(frozen=True, slots=True)
class BandsAnswer:
    """The bands of all categories."""

    revision: int
    source: ShownSource | None
    """What was asked for; None where each category is as the board shows it."""
    alpha: float
    """Level of the tests after Holm's correction within a band."""
    categories: list[CategoryBands]


@dataclass(frozen=True, slots=True)
class Range:
    """A rank and its 95 % range."""

    rank: int
    best: int
    worst: int


@dataclass(frozen=True, slots=True)
class RankedCodec:
    """One codec of the aggregated ranking."""

    codec: str
    title: str
    status: str
    submitter: str
    """Account that sent it, or ``anonymous``."""
    kbps: float | None
    """Over all of its clips of the categories that have a weight."""
    rank: Range
    """By points."""
    points: float
    """Weighted share of the others that it beats, 0 to 1; the self-reported codecs of an account count as one there."""
    mean_rank: float
    """Weighted mean of its ranks, in a field where senders count as for the points."""
    ability: float | None
    """Bradley and Terry's, in log odds, 0 being the mean; None outside the codecs compared clip by clip."""
    ability_rank: Range | None
    shares: dict[str, float]
    """Share of the others that it beats, by aspect."""
    by_clips: bool
    """Whether its draws resample clips; else they come from its intervals."""


@dataclass(frozen=True, slots=True)
class UnrankedCodec:
    """A codec that takes no part."""

    codec: str
    reason: str


@dataclass(frozen=True, slots=True)
class TurningPoint:
    """The smallest change of one weight that makes another codec the first."""

    aspect: str
    now: float
    weight: float
    """Rounded to three decimals, away from ``now``."""
    codec: str
    title: str


@dataclass(frozen=True, slots=True)
class RankingAnswer:
    """Ranks over datasets, categories and applications."""

    revision: int
    source: ShownSource
    band: str
    """Key of the bitrate band; '' for all bitrates."""
    weights: dict[str, float]
    datasets: dict[str, list[str]]
    """What each aspect with a weight rests on."""
    draws: int
    """Resamples behind each range."""
    clips: int
    """Clips of the Bradley-Terry model."""
    compared: int
    """Codecs in it."""
    codecs: list[RankedCodec]
    """Best first."""
    unranked: list[UnrankedCodec]
    turn: TurningPoint | None
    """None where several codecs are first, or where no single weight decides."""
    summary: str
    """Who is first, and what would change it."""
