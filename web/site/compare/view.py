"""Content of the page that compares codecs and of its JSON resource: plain typed rows for both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codec_superb.applications.results import ApplicationAggregate
from codec_superb.metrics.results import ResultSummary
from codec_superb.metrics.table import METRICS, Category
from codec_superb.web.quantity import SCORE, SCORE_KEY, Quantity, from_metric
from codec_superb.web.rows import Gap, Verdict, source_label
from codec_superb.web.site.codec.view import Fact

FEWEST, MOST = 2, 6
"""Codecs of one comparison."""


@dataclass(frozen=True, slots=True)
class ComparedCodec:
    """One of the chosen codecs and the submission that stands for it."""

    name: str
    title: str
    family: str
    submission: str
    """Id of the submission: the newest that is public."""
    version: int
    status: str
    """``verified`` or ``self-reported``."""
    submitter: str
    """Account that sent it, or ``anonymous``."""
    results: Sequence[ResultSummary]
    """Its own, over all of its clips, by category."""
    facts: Sequence[Fact] = ()
    """What its card says."""

    @property
    def source(self) -> str:
        """On whose word it stands, in words."""
        return source_label(self.status, self.submitter)


@dataclass(frozen=True, slots=True)
class MetricGap:
    """One metric on the shared clips of one dataset and category."""

    metric: str
    n: int
    """Clips with a value for both."""
    only_codec: int
    """Shared clips with a value for the codec only; left out."""
    only_baseline: int
    wins: int
    """Clips on which the codec is better."""
    losses: int
    ties: int
    gap: Gap | None
    """None where no clip has a value for both."""


@dataclass(frozen=True, slots=True)
class ClipGap:
    """One clip with a large difference."""

    clip: str
    codec: float
    baseline: float
    difference: float
    """Codec minus baseline."""


@dataclass(frozen=True, slots=True)
class Extremes:
    """The clips of one dataset and category on which a codec gains and loses most by one metric."""

    metric: str
    gains: Sequence[ClipGap]
    """Largest first; only clips on which the codec is better."""
    losses: Sequence[ClipGap]


@dataclass(frozen=True, slots=True)
class DatasetGap:
    """A codec against the baseline on one category of one dataset."""

    dataset: str
    category: Category
    shared: int
    """Clips that both resynthesised."""
    only_codec: int
    """Clips that the baseline failed on or was not run on; left out."""
    only_baseline: int
    score: Gap | None
    """Of the overall score; None where one of its metrics has no shared value."""
    metrics: Sequence[MetricGap]
    extremes: Sequence[Extremes]


@dataclass(frozen=True, slots=True)
class CategoryGap:
    """A codec against the baseline in one category, over the datasets that both have."""

    category: Category
    datasets: Sequence[str]
    left_out: Sequence[str]
    """Datasets of the category that only one of the two has, or that share no clip."""
    score: Gap | None


@dataclass(frozen=True, slots=True)
class LeftOutItem:
    """A dataset or metric that was not compared, and why."""

    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class CodecPair:
    """One codec against the baseline."""

    codec: str
    baseline: str
    reason: str
    """Why nothing could be compared; '' when something could."""
    categories: Sequence[CategoryGap]
    datasets: Sequence[DatasetGap]
    left_out: Sequence[LeftOutItem]


@dataclass(frozen=True, slots=True)
class RateGap:
    """One family against another in one category: Bjøntegaard deltas over all public codecs of both."""

    category: Category
    family: str
    against: str
    rate_percent: float | None
    """Bits needed for the same score, in %; negative when the family needs fewer. None with a reason."""
    score: float | None
    """Score gained at the same bitrate."""
    points: tuple[int, int]
    """Codecs on the two curves."""
    left_out: tuple[int, int]
    """Codecs left out because a cheaper one of the same family scores as high."""
    reason: str
    sources: tuple[str, ...] = ()
    """On whose word the points of both curves stand: ``verified`` and ``self-reported by ACCOUNT``."""


@dataclass(frozen=True, slots=True)
class RateNote:
    """A codec of one of the families that is on no curve, and why."""

    category: Category
    codec: str
    reason: str


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """One figure of an application of one codec."""

    codec: str
    numbers: ApplicationAggregate
    run_again: bool = True
    """False where the submission is verified, and this figure was not among what was run again."""


@dataclass(frozen=True, slots=True)
class ComparedApplication:
    """One figure on one dataset, answered by one model in one way for several of the codecs."""

    figure: str
    dataset: str
    """'' for a figure over several."""
    model: str
    model_sha256: str
    codecs: Sequence[ComparedFigure]
    """In the order of their choice; those that another model answered for are not among them."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything about the chosen codecs; the first one is the baseline."""

    codecs: Sequence[ComparedCodec]
    pairs: Sequence[CodecPair]
    """One for each codec but the first."""
    rates: Sequence[RateGap]
    rates_left_out: Sequence[RateNote]
    listening_clips: int
    """Clips that can be heard through every one of the codecs."""
    applications: Sequence[ComparedApplication] = ()
    applications_left_out: Sequence[LeftOutItem] = ()
    """Figures of a single one of the codecs, or by a model that answered for no other."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One line of the list of what a codec wins and loses."""

    dataset: str
    category: Category
    quantity: Quantity
    n: int
    gap: Gap


def quantity_of(key: str) -> Quantity:
    """Return the overall score or a metric as what can be shown; KeyError for an unknown key."""
    return SCORE if key == SCORE_KEY else from_metric(METRICS[key])


def standings(pair: CodecPair) -> dict[Verdict, list[Standing]]:
    """Sort everything that has an interval by its verdict, in the order of datasets and of the metric table."""
    found: dict[Verdict, list[Standing]] = {"better": [], "worse": [], "unclear": []}
    order = list(METRICS)
    for part in pair.datasets:
        if part.score is not None:
            counts = [entry.n for entry in part.metrics if part.category in METRICS[entry.metric].overall]
            line = Standing(part.dataset, part.category, SCORE, min(counts, default=0), part.score)
            found[part.score.verdict].append(line)
        for entry in sorted(part.metrics, key=lambda entry: order.index(entry.metric)):
            if entry.gap is not None:
                line = Standing(part.dataset, part.category, quantity_of(entry.metric), entry.n, entry.gap)
                found[entry.gap.verdict].append(line)
    return found


def verdict_of(low: float | None, high: float | None, *, higher_is_better: bool) -> Verdict:
    """Say whether an interval of differences lies on one side of zero.

    >>> verdict_of(-0.3, -0.1, higher_is_better=False)
    'better'
    """
    if low is None or high is None or low <= 0 <= high:
        return "unclear"
    return "better" if (low > 0) == higher_is_better else "worse"


def metric_choices(comparison: Comparison) -> list[Quantity]:
    """List what the figure can show: the overall score, and each metric that some pair was compared on."""
    present = {entry.metric for pair in comparison.pairs for part in pair.datasets for entry in part.metrics}
    return [SCORE, *(from_metric(row) for key, row in METRICS.items() if key in present)]
