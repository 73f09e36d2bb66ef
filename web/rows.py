"""Typed rows from which the report, the site and their charts are rendered by pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum, nan
from typing import Literal, NamedTuple

from codec_superb.applications.results import ApplicationAggregate
from codec_superb.metrics.results import UNCOUNTED, BitSource, Estimate, Operations, ResultSummary, Score
from codec_superb.metrics.table import Category
from codec_superb.web.retrieval_examples import RetrievalExample

Source = Literal["verified", "self-reported", "published"]
"""``verified``: run again by the maintainers; ``self-reported``: by whom it was submitted; ``published``: figures of a
paper or a repository, not re-run here."""
Verdict = Literal["better", "worse", "unclear"]
"""Of a codec against the baseline: the interval lies on one side of zero, or it does not."""


def source_label(status: str, submitter: str) -> str:
    """Say on whose word the numbers of a submission stand: ``verified`` or ``self-reported by ACCOUNT``."""
    return status if status == "verified" else f"{status} by {submitter}"


def own_word_label(submitter: str) -> str:
    """Say on whose word a figure stands that nobody ran again, though its submission is verified."""
    return f"{source_label('self-reported', submitter)}, not run again"


def figure_label(label: str, *figures: ApplicationRow) -> str:
    """Say on whose word figures stand, of several the weakest; ``label`` is that of their submission."""
    return next((figure.said for figure in figures if figure.said), label)


class Flops(NamedTuple):
    """Floating-point operations per second of audio."""

    value: float
    at_least: bool
    """Some operators were not counted."""


@dataclass(frozen=True, slots=True)
class CodecResult:
    """One codec in one category, over its datasets or on one of them."""

    codec: str
    title: str
    family: str
    nominal_kbps: float | None
    lossless: bool
    summary: ResultSummary
    """What it reached."""
    rank: tuple[int, int] | None = None
    """Best and worst rank within the 95 % intervals, among the codecs of the page; None without a score."""
    operations: Mapping[str, Operations] = field(default_factory=dict)
    """What the codec computes for a clip, by dataset; without those on which it is not known."""
    bit_source: BitSource = "measured"
    """Where the bitrate comes from."""
    across: float | None = None
    """Its place on a chart's horizontal axis where that is not bitrate; None where it is."""
    source: str = ""
    """``verified`` or ``self-reported by ACCOUNT``; '' where nobody sends results."""
    sender: str = ""
    """Who counts once where what most have is chosen; '' for the codec by itself."""
    states: Mapping[str, str] = field(default_factory=dict)
    """Hash of the manifest of each dataset: there may be several under one name."""
    definitions: Mapping[str, str] = field(default_factory=dict)
    """Metric key to version of the definition that its values follow."""
    apart: str = ""
    """Why the figure of an application that it shows is of no front; '' where that is not so."""
    usual: bool = False
    """Whether a board ranks what its value rests on: datasets, their states, definitions or the model."""

    def flops(self, step: Literal["encode", "decode"]) -> Flops | None:
        """Operations per second of audio: the mean over the datasets, None where it is not known on one of them."""
        counted = [self.operations[name] for name in self.summary.datasets if name in self.operations]
        parts = [one.encode if step == "encode" else one.decode for one in counted]
        known = [part.per_second for part in parts if part.per_second is not None]
        if not known or len(known) < len(self.summary.datasets):
            return None
        return Flops(fsum(known) / len(known), at_least=any(part.unseen for part in parts))

    def on(self, summary: ResultSummary) -> CodecResult:
        """Return the same codec on other clips, without a rank."""
        return replace(self, summary=summary, rank=None)

    @property
    def kbps(self) -> float:
        """Bitrate to draw and sort by; NaN where it is not known."""
        return nan if self.summary.kbps is None else self.summary.kbps

    @property
    def place(self) -> float:
        """Its place on a chart's horizontal axis."""
        return self.kbps if self.across is None else self.across

    @property
    def rate_mark(self) -> str:
        """What is said beside a bitrate that nobody counted; '' for a measured one."""
        return {"declared": "declared", "unknown": "not stated"}.get(self.bit_source, "")

    @property
    def uncounted(self) -> str:
        """Why it has no rank among measured ones; '' where its bits were counted."""
        return UNCOUNTED.get(self.bit_source, "")


@dataclass(frozen=True, slots=True)
class ConditionInfo:
    """What results were made under, as the table of conditions describes it."""

    name: str = ""
    """``loss:10``; '' for clean results, as is every other field."""
    kind: str = ""
    """``loss``."""
    label: str = ""
    """``lost packets``."""
    place: str = ""
    """``sound``, ``payload`` or ``chain``."""
    axis: str = ""
    """Parameter with its unit: ``loss (%)``; '' for a kind without one."""
    strength: float = 0.0
    usual: bool = False
    """Whether that strength is one of those that are usually measured."""
    grows: bool = True
    """Whether a higher strength is the stronger condition."""
    definition: str = ""
    reference: str = "clean"
    """``clean``: metrics compare with the original; ``input``: with the sound that the codec was given."""


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """One codec in one category under a condition, or clean beside such results: it has no rank."""

    result: CodecResult
    of: ConditionInfo
    word_errors: ApplicationRow | None = None
    """Word error rate in %, where it was measured."""
    source: str = ""
    """``verified`` or ``self-reported by ACCOUNT``; '' where nobody sends results."""
    clips: str | None = ""
    """Names its clips: '' are all of its datasets; None where nobody knows on which it rests."""


@dataclass(frozen=True, slots=True)
class ClipPoint:
    """One clip through one codec, for distributions and the scatter."""

    codec: str
    dataset: str
    clip: str
    category: Category
    kbps: float | None
    metrics: Mapping[str, float]
    """Only defined values."""


@dataclass(frozen=True, slots=True)
class ReportSample:
    """One chosen clip to listen to: the reference and every codec's version, as small Ogg Opus files."""

    clip: str
    dataset: str
    category: Category
    text: str | None
    attribution: str
    licence: str
    reference: bytes
    resyntheses: Mapping[str, bytes]
    """By codec name."""


@dataclass(frozen=True, slots=True)
class ClipFailure:
    """One clip, or one metric on one clip, that gave no value."""

    codec: str
    dataset: str
    clip: str
    stage: str
    kind: Literal["failed", "undefined"]
    reason: str


@dataclass(frozen=True, slots=True)
class RateComparison:
    """Bjøntegaard deltas of one family against another in one category."""

    category: Category
    family: str
    against: str
    rate_percent: float | None
    """BD-rate: bits needed for the same score, in % (negative: ``family`` needs fewer); None without overlap."""
    score: float | None
    """BD-score: score gained at the same bitrate."""


@dataclass(frozen=True, slots=True)
class ProbeModel:
    """The model behind a probe: figures of models that differ in any field are never ranked together."""

    backend: str
    """Such as ``faster-whisper:tiny.en``; several, with commas, behind a figure over several probes."""
    sha256: str = ""
    """Of the model's files; '' where it is not known."""
    version: str = ""
    """Version of the probe's definition."""
    random: bool = False
    """Whether the model has untrained weights: its figures say nothing about codecs."""
    settings: tuple[tuple[str, str], ...] = ()
    """Decoding, normaliser, trial list, parameters of a cost, as sorted name-value pairs."""
    remote: bool = False
    """Whether a server answered, whose weights nobody can name: never ranked with a model that can be."""
    of_codec: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """Settings that follow from the codec's own tokens (``Probe.of_codec``): shown, and no difference of the model."""

    @property
    def all_settings(self) -> tuple[tuple[str, str], ...]:
        """Settings with those that follow from the codec, sorted."""
        return tuple(sorted((*self.settings, *self.of_codec)))

    @property
    def name(self) -> str:
        """Backend with the beginning of the hash of its model, or of what a server was told to run."""
        said = ", ".join(["remote"] * self.remote + [self.sha256[:12]] * bool(self.sha256))
        return f"{self.backend} ({said})" if said else self.backend


@dataclass(frozen=True, slots=True)
class ApplicationRow:
    """One figure of an application, on what one codec made of one dataset."""

    codec: str
    numbers: ApplicationAggregate
    """Which figure, on which dataset: the ceiling, the value and the loss, with their counts."""
    model: ProbeModel
    kbps: float
    """Measured on the clips of the dataset that the probe looks at; NaN where it is not known."""
    tokens_per_second: float | None = None
    """Likewise; None where the codec has no tokens, and where it is the codec's own."""
    short: int = 0
    """Clips below 2 s, of a model that repeats short clips; 0 too where single clips are not known."""
    sender: str = ""
    """Who counts once where the model is chosen that most have; '' where nobody sends results."""
    own_word: str = ""
    """Whose word it is where its submission is verified, and this figure was not among what was run again."""
    published: bool = False
    """Whether a table of a paper holds it, also where a submission's row takes it over."""
    apart: bool = False
    """Whether it says something else of the originals than those that agree, and so is of no front."""

    @property
    def run_again(self) -> bool | None:
        """False where the badge of its submission does not cover it; None of published figures."""
        return None if self.published else not self.own_word

    @property
    def said(self) -> str:
        """Whose word it is where that is not its row's; '' where it is."""
        return self.model.backend if self.published else self.own_word

    @property
    def value(self) -> Estimate:
        """The figure on the resynthesis as charts and tables of scores and metrics take it."""
        return self.numbers.resynthesis.over(self.numbers.n, self.numbers.failed)


class CardFacts(NamedTuple):
    """What a codec's card says and the board can show; None and '' where it is not stated."""

    frame_rate: float | None = None
    """Frames per second."""
    parameters: int | None = None
    latency_ms: float | None = None
    year: int | None = None
    licence: str = ""
    paper: str = ""


NO_CARD = CardFacts()
"""Of a codec whose card is not known."""


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One codec in one category, from a submission or from a published table."""

    result: CodecResult
    """``rank`` is that among the rows that pass the filters and have the same datasets; None where it has none."""
    source: Source
    source_label: str
    """``verified``, ``self-reported by ACCOUNT`` or the citation of the table."""
    source_url: str | None
    submission: str | None
    """Id of the submission; None for published figures, whose ``result.codec`` is ``<table>:<id>``."""
    received: str | None
    """ISO date on which it came."""
    submitter: str
    """Account that sent it, or ``anonymous``; '' for published figures."""
    sampling_rate: int | None
    """Hz at which the codec works; None where a table does not say."""
    kind: str
    """``classical``, ``neural``, ``lossless``."""
    open_weights: bool | None
    """Its weights are publicly available (always true for a classical codec); None where that is not known."""
    causal: bool | None
    undefined: int
    """Clips on which a metric is not defined: of the metric that has most of them."""
    unranked: str
    """Why it has no rank; '' when it has one."""
    applications: dict[str, ApplicationRow] = field(default_factory=dict)
    """Figure of an application (``asr_wer_pct``, …), with ceiling, loss and the model that answered, where the source
    has it."""
    submitter_in_file: str = ""
    """Whom the file names, in its own words."""
    card: CardFacts = NO_CARD
    also: tuple[str, ...] = ()
    """Published figures of this very configuration that the row stands for, where sources are mixed."""
    identity: str = ""
    """Cache key of the row without its rank: rows of equal identity differ in ``rank`` and ``unranked`` alone. '' where
    the row must not be cached."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A codec against the baseline, on the same clips."""

    codec: float
    baseline: float
    difference: float
    """Codec minus baseline."""
    low: float | None
    """Lower end of the 95 % paired interval of the difference; None for fewer than two clusters of clips."""
    high: float | None
    share_better: float
    """Share of draws of clusters in which the codec is better than the baseline, ties counted half; no test."""
    verdict: Verdict


class CountRow(NamedTuple):
    """One count of a codec's tokens on one dataset, by its name (``match:recode_2:1``)."""

    codec: str
    dataset: str
    name: str
    score: Score


@dataclass(frozen=True, slots=True)
class ReportData:
    """All data of the report."""

    title: str
    created: str
    """ISO 8601, UTC."""
    results: Sequence[CodecResult]
    clips: Sequence[ClipPoint] = ()
    listening: Sequence[ReportSample] = ()
    failures: Sequence[ClipFailure] = ()
    rates: Sequence[RateComparison] = ()
    conditions: Sequence[ConditionResult] = ()
    """Results under conditions, and the clean ones of the same codecs beside them."""
    examples: Sequence[RetrievalExample] = ()
    slices: Sequence[ApplicationRow] = ()
    """Figures of applications on the clips of one recording condition."""
    applications: Sequence[ApplicationRow] = ()
    counts: Sequence[CountRow] = ()
    """Of tokens, by codebook."""
    provenance: Sequence[tuple[str, str]] = ()
    """Name-value pairs: tool version, commit, packages, platform, dataset hashes."""
    dataset_credits: Sequence[tuple[str, str, str]] = field(default_factory=tuple)
    """Dataset, licence, attribution."""
