"""What the pages of listening tests show, and what their API answers with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

KINDS: Final[Mapping[str, str]] = MappingProxyType({
    "ab": "AB preference",
    "abx": "ABX",
    "mushra": "MUSHRA (ITU-R BS.1534-3)",
    "acr": "Absolute category rating (ITU-T P.800, P.808)",
    "dcr": "Degradation category rating (ITU-T P.800, P.808)",
})  # fmt: skip
MUSHRA_LABELS: Final = ("Bad", "Poor", "Fair", "Good", "Excellent")
"""Of the intervals 0–20, 20–40, 40–60, 60–80, 80–100."""
# ITU-T P.800, annexes B (ACR) and D (DCR)
SCALES: Final[Mapping[str, Sequence[tuple[int, str]]]] = MappingProxyType({
    "acr": ((5, "Excellent"), (4, "Good"), (3, "Fair"), (2, "Poor"), (1, "Bad")),
    "dcr": (
        (5, "Degradation is inaudible"), (4, "Audible but not annoying"), (3, "Slightly annoying"), (2, "Annoying"),
        (1, "Very annoying"),
    ),
})  # fmt: skip
QUESTIONS: Final[Mapping[str, tuple[str, Sequence[str]]]] = MappingProxyType({
    "age": ("Your age", ("under 20", "20 to 29", "30 to 39", "40 to 49", "50 to 59", "60 or above")),
    "hearing": ("Your hearing", ("no known loss", "a known loss")),
    "device": ("You listen with", ("headphones", "earphones", "loudspeakers")),
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class TestLine:
    """A test in the list."""

    __test__ = False

    id: str
    title: str
    kind: str
    state: Literal["draft", "open", "closed"]
    created: str
    """Date."""
    started: int
    """Participants that began."""
    finished: int


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """Ratings of one condition."""

    condition: str
    """A codec's name, ``reference``, ``anchor-3.5k`` or ``anchor-7k``."""
    n: int
    """Ratings that count."""
    listeners: int
    n_before: int
    """Ratings before listeners were left out."""
    mean_before: float | None
    mean: float | None
    low: float | None
    """Lower end of the 95 % interval of the mean, listeners being the independent units; None with too few."""
    high: float | None
    median: float | None
    lower_quartile: float | None
    upper_quartile: float | None


@dataclass(frozen=True, slots=True)
class PairResult:
    """Answers about one pair of conditions."""

    first: str
    second: str
    n: int
    """Answers that count."""
    listeners: int
    n_before: int
    share: float | None
    """AB: how often the first was preferred, no difference counted half. ABX: share of right answers."""
    low: float | None
    """Lower end of Wilson's 95 % interval, every answer being one."""
    high: float | None
    cluster_low: float | None
    """Lower end of the 95 % interval with listeners as the independent units; None where they are too few or agree."""
    cluster_high: float | None
    ties: int
    """Of AB: answers without a preference."""
    p: float | None
    """Of ABX: probability that guessing is at least as often right; exact binomial, one-sided."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Why participants are not in the results."""

    reason: str
    participants: int


@dataclass(frozen=True, slots=True)
class TestResults:
    """The results of a test."""

    __test__ = False

    id: str
    title: str
    kind: str
    state: Literal["draft", "open", "closed"]
    source: str
    """Where the sounds come from."""
    per_address: int
    """Most people that began at one address within a day; beyond that nobody knows whether two are one person."""
    clips: Sequence[str]
    credits: Sequence[str]
    """Attribution and licence of the clips."""
    started: int
    finished: int
    counted: int
    """Participants whose answers count."""
    left_out: Sequence[LeftOut]
    conditions: Sequence[ConditionResult]
    pairs: Sequence[PairResult]
    heard_from: Mapping[str, str]
    """On whose word the sounds of a codec stand, by condition: ``self-reported by ACCOUNT``, or ``withdrawn since``."""


@dataclass(frozen=True, slots=True)
class CodecLine:
    """A codec's figure of one closed test, for its page."""

    id: str
    title: str
    kind: str
    listeners: int
    figure: str
    """In words, with its interval."""


@dataclass(frozen=True, slots=True)
class SoundView:
    """One sound of a trial."""

    label: str
    """``Reference``, ``A``, ``X``, …"""
    key: str
    """The key that plays it, '' beyond nine."""
    url: str
    rated: bool
    """Whether it is one of those that are rated."""


@dataclass(frozen=True, slots=True)
class TrialView:
    """A trial before its answer."""

    kind: str
    number: int
    """Counted from 1."""
    of: int
    training: bool
    sounds: Sequence[SoundView]
    ties: bool
