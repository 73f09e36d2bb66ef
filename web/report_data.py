"""What the report shows: plain typed rows, so that figures and pages are pure functions of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from codec_superb.metrics.table import Category


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over clips (or the overall score) with what it rests on."""

    value: float | None
    """None when no clip gave a value."""
    low: float | None = None
    """Lower end of the 95 % bootstrap interval."""
    high: float | None = None
    n: int = 0
    undefined: int = 0
    failed: int = 0
    sd: float | None = None


@dataclass(frozen=True, slots=True)
class CodecResult:
    """One codec in one category."""

    codec: str
    title: str
    family: str
    category: Category
    kbps: float
    """Measured: all payload bits over all seconds; NaN when no clip came back."""
    nominal_kbps: float | None
    tokens_per_second: float | None
    lossless: bool
    score: Estimate
    """Overall score of the category."""
    rank: tuple[int, int] | None
    """Best and worst rank within the 95 % intervals, among the codecs of this report; None without a score."""
    metrics: Mapping[str, Estimate]
    """By metric key; keys of :data:`codec_superb.metrics.table.METRICS`."""
    datasets: Sequence[str]
    clips: int
    failed: int
    complete: bool
    """All datasets of the category asked for were run and no clip failed."""
    largest_lag: int | None
    """Largest |residual lag| of a clip, in samples."""
    clipped_samples: int
    encode_rtf: float | None
    """Seconds of computing per second of audio."""
    decode_rtf: float | None
    compression_ratio: float | None
    """Against 16-bit PCM at the clip's own rate."""


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
class Listening:
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
class Failure:
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
class ReportData:
    """Everything on the page."""

    title: str
    created: str
    """ISO 8601, UTC."""
    results: Sequence[CodecResult]
    clips: Sequence[ClipPoint] = ()
    listening: Sequence[Listening] = ()
    failures: Sequence[Failure] = ()
    rates: Sequence[RateComparison] = ()
    provenance: Sequence[tuple[str, str]] = ()
    """Name-value pairs: tool version, commit, packages, platform, dataset hashes."""
    dataset_credits: Sequence[tuple[str, str, str]] = field(default_factory=tuple)
    """Dataset, licence, attribution."""
