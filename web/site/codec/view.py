"""Content of the page of one codec, as typed rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log2
from urllib.parse import urlencode

from codec_superb.metrics.table import Category
from codec_superb.web.conditions import ConditionCategory
from codec_superb.web.figures.distribution import Quantiles
from codec_superb.web.figures.radar import LEAST_AXES, RadarAxis
from codec_superb.web.rows import ApplicationRow, CodecResult
from codec_superb.web.site.cells import TextTable
from codec_superb.web.site.codec.mseb import of_mseb, without_mseb
from codec_superb.web.site.custom import CustomRow
from codec_superb.web.site.listening_tests.view import CodecLine
from codec_superb.web.site.private_sets import PrivateRow
from codec_superb.web.site.whose import ShownSource


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of a description list."""

    label: str
    text: str
    note: str = ""
    """What the line means, where the label does not say."""
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """A badge."""

    text: str
    explanation: str
    tone: str = ""
    """``good``, ``warning`` or '' for neither."""


@dataclass(frozen=True, slots=True)
class SubmissionView:
    """The version whose results the page shows."""

    id: str
    version: int
    status: str
    received: str
    """ISO date."""
    submitter: str
    """Account that sent it."""
    complete: bool


@dataclass(frozen=True, slots=True)
class DatasetResult:
    """Results on one dataset."""

    name: str
    title: str
    result: CodecResult


@dataclass(frozen=True, slots=True)
class Spread:
    """One metric over the clips of one dataset."""

    dataset: str
    metric: str
    summary: Quantiles


@dataclass(frozen=True, slots=True)
class BandNeighbour:
    """A codec of the bitrate band."""

    name: str
    title: str
    kbps: float | None
    """Measured in the band; nominal among the family."""
    source: str
    """On whose word it stands."""


@dataclass(frozen=True, slots=True)
class BandView:
    """The codecs that the radar compares with."""

    low: float
    """kbps"""
    high: float
    factor: float
    members: Sequence[BandNeighbour]
    other_datasets: int
    """Codecs of the band that were measured on other datasets and are left out."""
    source: ShownSource = "runs"
    """Whether all of them were run again."""


_LISTED = 10
"""Codecs of a band that are named."""


def _by_rate(each: BandNeighbour) -> float:
    return each.kbps or 0.0


@dataclass(frozen=True, slots=True)
class CategoryView:
    """Results in one category."""

    category: Category
    overall: CodecResult
    datasets: Sequence[DatasetResult]
    axes: Sequence[RadarAxis]
    band: BandView | None
    """None where the bitrate is not known."""
    spreads: Sequence[Spread]

    @property
    def nearest(self) -> Sequence[BandNeighbour]:
        """The ten codecs of the band whose bitrates are the nearest, by bitrate."""
        own, members = self.overall.kbps, self.band.members if self.band else ()
        return sorted(sorted(members, key=lambda each: abs(log2((each.kbps or own) / own)))[:_LISTED], key=_by_rate)

    @property
    def enough_axes(self) -> bool:
        """Whether a radar can be drawn."""
        return len(self.axes) >= LEAST_AXES

    @property
    def metrics(self) -> Sequence[str]:
        """Keys of the metrics with a spread, in the order of the table."""
        return tuple(dict.fromkeys(spread.metric for spread in self.spreads))


@dataclass(frozen=True, slots=True)
class PublishedView:
    """Figures of the codec in one published table."""

    id: str
    """As in the table."""
    label: str
    configuration: str
    citation: str
    url: str
    statement: str
    differs: Sequence[str]
    figures: Sequence[TextTable]
    """Scores and metrics by category and dataset; none in a table of applications alone."""
    applications: Sequence[TextTable]


@dataclass(frozen=True, slots=True)
class SampleView:
    """One clip to listen to."""

    number: int
    clip: str
    dataset: str
    category: str
    licence: str
    attribution: str
    seconds: float
    """Length of the spectrograms."""
    highest: int
    """Hz at the top of the spectrograms."""

    @property
    def frequencies(self) -> Sequence[str]:
        """Evenly spaced marks of the upright axis in kHz, from the top."""
        return [f"{self.highest * quarter / 4000:g}" for quarter in (4, 3, 2, 1, 0)]

    @property
    def times(self) -> Sequence[str]:
        """Evenly spaced marks of the time axis in seconds."""
        return [f"{self.seconds * quarter / 4:.2f}".rstrip("0").rstrip(".") for quarter in range(5)]


@dataclass(frozen=True, slots=True)
class StageView:
    """One stage of the run on one dataset."""

    title: str
    facts: Sequence[Fact]


@dataclass(frozen=True, slots=True)
class VersionView:
    """One version of the codec's results."""

    id: str
    version: int
    received: str
    status: str
    submitter: str
    """Account that sent it; '' for what is withdrawn."""
    submitter_in_file: str
    reason: str
    decided: str
    """ISO date of the decision, '' where there was none."""
    previous: str | None
    """Id of the version before, to compare with: custom if this one is, under the same condition."""
    custom: bool = False
    """On datasets that are not of the benchmark."""
    condition: str = ""
    """What it was made under; '' for clean results."""

    @property
    def public(self) -> bool:
        """Whether its results may be seen."""
        return self.status != "withdrawn"


@dataclass(frozen=True, slots=True)
class Citation:
    """A BibTeX entry."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class CodecView:
    """Everything on the page of one codec."""

    name: str
    title: str
    family: str
    summary: str
    """One sentence: what it is."""
    marks: Sequence[Mark]
    submission: SubmissionView | None
    """None for a codec that only published tables know."""
    card: Sequence[Fact]
    card_by: str = ""
    """Who says so."""
    categories: Sequence[CategoryView] = ()
    custom: Sequence[CustomRow] = ()
    heard: Sequence[CodecLine] = ()
    """What closed listening tests found."""
    private: Sequence[PrivateRow] = ()
    """Beside results on private datasets."""
    conditions: Sequence[ConditionCategory] = ()
    applications: Sequence[ApplicationRow] = ()
    """On all clips of each dataset."""
    slices: Sequence[ApplicationRow] = ()
    """On the clips of one recording condition."""
    published: Sequence[PublishedView] = ()
    samples: Sequence[SampleView] = ()
    machines: str = ""
    """Hardware of the timings."""
    parameters: str = ""
    """How many were trained, in words."""
    stages: Sequence[StageView] = ()
    history: Sequence[VersionView] = ()
    """The newest ones."""
    versions: int = 0
    """How many there are."""
    citations: Sequence[Citation] = ()
    relatives: Sequence[BandNeighbour] = field(default_factory=tuple)
    """Other codecs of the family."""

    @property
    def compare_url(self) -> str | None:
        """Address of the comparison with the nearest codec of the band; None without a band."""
        for part in self.categories:
            if part.band and part.band.members:
                near = min(part.band.members, key=lambda each: abs((each.kbps or 0.0) - part.overall.kbps))
                return "/compare?" + urlencode([("codec", self.name), ("codec", near.name)])
        return None

    @property
    def sections(self) -> Sequence[tuple[str, str]]:
        """Anchors and titles of the sections that the page has, in order."""
        candidates: tuple[tuple[str, str, object], ...] = (
            ("results", "Results", self.categories),
            ("private", "Private sets", self.private),
            ("applications", "Applications", without_mseb(self.applications)),
            ("mseb", "MSEB", of_mseb(self.applications)),
            ("heard", "Heard by people", self.heard),
            ("listen", "Listen", self.samples),
            ("card", "Card", self.card),
            ("conditions", "Conditions", self.conditions),
            ("custom", "Custom metrics", self.custom),
            ("published", "Published figures", self.published),
            ("efficiency", "Efficiency", self.categories),
            ("provenance", "Provenance", self.stages),
            ("history", "History", self.history),
            ("cite", "Cite", self.citations),
        )
        return [(anchor, title) for anchor, title, content in candidates if content]
