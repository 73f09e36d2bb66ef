"""Further sections of the report as rows of text: listening, rate comparison, failures, definitions."""

from __future__ import annotations

from base64 import b64encode
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isinf

from codec_superb.applications.probe import ProbeMetric
from codec_superb.metrics.table import Metric
from codec_superb.web.quantity import Quantity
from codec_superb.web.rows import ClipFailure, CodecResult, RateComparison, ReportSample
from codec_superb.web.text import MISSING, kbps, number


@dataclass(frozen=True, slots=True)
class Player:
    """One player."""

    title: str
    detail: str
    codec: int | None
    """Number of the codec in the payload; None for the reference and for a codec without a result."""
    uri: str
    """``data:`` URI, so that nothing is fetched."""


@dataclass(frozen=True, slots=True)
class ListeningClip:
    """One clip with all its versions, the reference first, then by bitrate."""

    source: ReportSample
    versions: tuple[Player, ...]


def listening_clips(listening: Sequence[ReportSample], ordered: Sequence[CodecResult]) -> list[ListeningClip]:
    """Make the players of one category; ``ordered`` are its codecs as numbered in the payload."""
    return [ListeningClip(clip, tuple(_versions(clip, ordered))) for clip in listening]


def _versions(clip: ReportSample, ordered: Sequence[CodecResult]) -> list[Player]:
    versions = [Player("Reference", "original sound", None, audio_uri(clip.reference))]
    for index, row in enumerate(ordered):
        if row.codec in clip.resyntheses:
            sound = audio_uri(clip.resyntheses[row.codec])
            versions.append(Player(row.title, f"{kbps(row.kbps)} kbps", index, sound))
    known = {row.codec for row in ordered}
    unscored = sorted(clip.resyntheses.keys() - known)
    return [*versions, *(Player(codec, "not scored", None, audio_uri(clip.resyntheses[codec])) for codec in unscored)]


def audio_uri(ogg: bytes) -> str:
    """Write an Ogg Opus file as a ``data:`` URI."""
    return "data:audio/ogg;codecs=opus;base64," + b64encode(ogg).decode("ascii")


@dataclass(frozen=True, slots=True)
class RateCell:
    """Bjøntegaard deltas of the row's family against the column's."""

    percent: str
    score: str
    title: str


@dataclass(frozen=True, slots=True)
class RateMatrix:
    """Each family in a row and in a column; None where nothing was compared."""

    families: tuple[str, ...]
    cells: tuple[tuple[RateCell | None, ...], ...]


def rate_matrix(rates: Sequence[RateComparison]) -> RateMatrix:
    """Arrange the comparisons of one category; one that is given from one side only is turned for the other."""
    families = tuple(sorted({family for rate in rates for family in (rate.family, rate.against)}))
    by_pair = {(rate.against, rate.family): _rate_cell(_turned(rate)) for rate in rates}
    by_pair |= {(rate.family, rate.against): _rate_cell(rate) for rate in rates}
    cells = tuple(tuple(by_pair.get((family, other)) for other in families) for family in families)
    return RateMatrix(families, cells)


def _turned(rate: RateComparison) -> RateComparison:
    """Reverse a comparison of two families: a ratio of rates becomes its reciprocal, a gain a loss."""
    percent = None if rate.rate_percent is None else 100 * (1 / (1 + rate.rate_percent / 100) - 1)
    score = None if rate.score is None else -rate.score
    return RateComparison(rate.category, rate.against, rate.family, percent, score)


def _rate_cell(rate: RateComparison) -> RateCell:
    percent = MISSING if rate.rate_percent is None else f"{_signed(rate.rate_percent, 0)} %"
    score = "" if rate.score is None else _signed(rate.score, 3)
    if rate.rate_percent is None:
        title = f"No overlap: there is no score that both {rate.family} and {rate.against} reach"
    else:
        more = "fewer" if rate.rate_percent < 0 else "more"
        title = f"{rate.family} needs {number(abs(rate.rate_percent), 0)} % {more} bits than {rate.against}"
    return RateCell(percent, score, title)


def _signed(value: float, decimals: int) -> str:
    text = number(value, decimals)
    return f"+{text}" if value > 0 and text.strip("0.") else text


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Failures of one kind, stage and reason."""

    kind: str
    stage: str
    reason: str
    amount: int
    codecs: int


def failure_groups(failures: Sequence[ClipFailure]) -> list[FailureGroup]:
    """Count failures by reason: failed before undefined, the most frequent first."""
    groups: dict[tuple[str, str, str], list[ClipFailure]] = defaultdict(list)
    for failure in failures:
        groups[failure.kind, failure.stage, failure.reason].append(failure)
    rows = [FailureGroup(*key, len(group), len({f.codec for f in group})) for key, group in groups.items()]
    return sorted(rows, key=lambda row: (row.kind, -row.amount, row.stage, row.reason))


@dataclass(frozen=True, slots=True)
class Definition:
    """A metric in words."""

    metric: Metric
    title: str
    range: str
    direction: str
    part_of: str
    paper_url: str
    """'' when the paper is not an address."""


def definitions(metrics: Sequence[Metric], quantities: Mapping[str, Quantity]) -> list[Definition]:
    """Describe each metric that the report shows."""
    rows = []
    for metric in metrics:
        part_of = ", ".join(metric.overall)
        direction = "higher is better" if metric.higher_is_better else "lower is better"
        url = metric.paper if metric.paper.startswith("https://") else ""
        title = quantities[metric.key].title
        rows.append(Definition(metric, title, number_range(metric), direction, part_of, url))
    return rows


def number_range(metric: Metric | ProbeMetric) -> str:
    """Write the values that a metric, or a figure of an application, can have."""
    if isinf(metric.minimum) and isinf(metric.maximum):
        return "any number"
    if isinf(metric.maximum):
        return f"{_end(metric.minimum)} or more"
    if isinf(metric.minimum):
        return f"{_end(metric.maximum)} or less"
    return f"from {_end(metric.minimum)} to {_end(metric.maximum)}"


def _end(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")
