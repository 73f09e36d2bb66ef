"""The outcome of a stage on one run: counts and failures, from which the exit code follows."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple


class FailedClip(NamedTuple):
    """One clip without a resynthesis, or one metric or probe that failed on it."""

    clip: str
    stage: str
    reason: str


@dataclass(slots=True)
class MetricCounts:
    """Numbers of clips on which a metric has a value, is undefined, or failed."""

    ok: int = 0
    undefined: int = 0
    failed: int = 0


@dataclass(slots=True)
class ProbeCounts:
    """Numbers of clips that a probe scored, left out, or failed on."""

    ok: int = 0
    left_out: int = 0
    failed: int = 0


@dataclass(slots=True)
class RunOutcome:
    """One run after one stage."""

    path: Path
    codec: str
    dataset: str
    stage: Literal["resynth", "import", "score", "probe", "merge"]
    asked: int
    """Requested clips."""
    done: int = 0
    """Clips computed in this call, with or without success."""
    reused: int = 0
    """Clips that were finished before."""
    failed: list[FailedClip] = field(default_factory=list)
    """Every failure of the requested clips, sorted by clip."""
    metrics: dict[str, MetricCounts] = field(default_factory=dict)
    """By metric key, over the requested clips; empty after resynth and probe."""
    probes: dict[str, ProbeCounts] = field(default_factory=dict)
    """By probe key, over the clips of its categories; empty after other stages."""

    @property
    def complete(self) -> bool:
        """Whether nothing failed; undefined metrics and clips that a probe leaves out are no failures."""
        return not self.failed
