"""What a stage did with one run: the numbers behind its exit code."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple


class FailedClip(NamedTuple):
    """One clip that gave no resynthesis, or one metric or probe that failed on it."""

    clip: str
    stage: str
    reason: str


@dataclass(slots=True)
class MetricCounts:
    """How often one metric gave a value, had none, or crashed."""

    ok: int = 0
    undefined: int = 0
    failed: int = 0


@dataclass(slots=True)
class ProbeCounts:
    """How many clips took part in one probe, were left out of it, or failed."""

    ok: int = 0
    left_out: int = 0
    failed: int = 0


@dataclass(slots=True)
class RunOutcome:
    """One run after one stage."""

    path: Path
    codec: str
    dataset: str
    stage: Literal["resynth", "score", "probe"]
    asked: int
    """Clips that the stage was asked for."""
    done: int = 0
    """Clips computed now, with or without success."""
    reused: int = 0
    """Clips that were finished before."""
    failed: list[FailedClip] = field(default_factory=list)
    """Every failure of the clips asked for, sorted by clip."""
    metrics: dict[str, MetricCounts] = field(default_factory=dict)
    """By metric key, over the clips asked for; empty after resynth and probe."""
    probes: dict[str, ProbeCounts] = field(default_factory=dict)
    """By probe key, over the clips of its categories; empty after other stages."""

    @property
    def complete(self) -> bool:
        """Whether nothing failed; a metric that is undefined and a clip that a probe leaves out are answers."""
        return not self.failed
