"""Computes application metrics from clip values and pairs: pure functions with weights, a bootstrap in one call.

Each takes :class:`Evidence` of one side and weights of shape ``(draws, clips)`` (how often a draw holds a clip) and
returns ``(draws,)``, NaN where a draw has nothing to divide by. The point estimate is the draw of ones. Nothing here
depends on a model: the service computes the same metrics from the rows of a submission.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
T = TypeVar("T")
_NO_INTEGERS: NDArray[np.int64] = np.zeros(0, np.int64)
_NO_FLAGS: NDArray[np.bool_] = np.zeros(0, np.bool_)
_NO_FLOATS: Floats = np.zeros(0)
NO_TOTALS = _NO_FLOATS

TARGET_PRIOR = 0.01
MISS_COST = FALSE_ALARM_COST = 1.0
"""Parameters of the detection cost, as the paper of the benchmark leaves them and NIST's evaluations set them."""


@dataclass(frozen=True, slots=True, eq=False)
class PairedFrames:
    """Vectors of the same moments on the reference and on one side; of the reference's own side both are the same."""

    clips: NDArray[np.int64]
    """Position of each frame's clip among the clips, rising, shape ``(frames,)``."""
    reference: Floats
    """Shape ``(frames, dimensions)``."""
    side: Floats
    """Shape ``(frames, dimensions)``."""
    _known: dict[Callable[..., Any], Any] = field(default_factory=dict, repr=False)

    def once(self, compute: Callable[[PairedFrames], T]) -> T:
        """Return what ``compute`` makes of the frames; computed once, however often a bootstrap asks."""
        if compute not in self._known:
            self._known[compute] = compute(self)
        found: T = self._known[compute]
        return found


NO_FRAMES = PairedFrames(_NO_INTEGERS, np.zeros((0, 0)), np.zeros((0, 0)))


@dataclass(frozen=True, slots=True)
class Evidence:
    """One side of a probe on one dataset."""

    values: Mapping[str, Floats]
    """Shared and sided fields by name, each of shape ``(clips,)``."""
    left: NDArray[np.int64] = field(default_factory=lambda: _NO_INTEGERS)
    """Position of a pair's left clip among the clips, shape ``(pairs,)``."""
    right: NDArray[np.int64] = field(default_factory=lambda: _NO_INTEGERS)
    """Position of its right clip; for ranks the number of the class."""
    target: NDArray[np.bool_] = field(default_factory=lambda: _NO_FLAGS)
    scores: Floats = field(default_factory=lambda: _NO_FLOATS)
    """Score or rank of this side, shape ``(pairs,)``."""
    frames: PairedFrames = NO_FRAMES
    """Of the probes that keep frames."""
    names: tuple[str, ...] = ()
    """Of counts: what ``right`` numbers."""
    totals: Floats = field(default_factory=lambda: _NO_FLOATS)
    """Of counts: the total of each, whatever the side."""


def mean(evidence: Evidence, weights: Floats, field_name: str) -> Floats:
    """Weighted mean of a field."""
    return _ratio(weights @ evidence.values[field_name], weights.sum(axis=1))


def percentage(evidence: Evidence, weights: Floats, field_name: str) -> Floats:
    """Weighted mean of a field, times 100."""
    return 100.0 * mean(evidence, weights, field_name)


def word_error_rate(evidence: Evidence, weights: Floats) -> Floats:
    """Substitutions, deletions and insertions in percent of the words, over the clips that are counted in words."""
    return _error_rate(evidence, weights, "words")


def character_error_rate(evidence: Evidence, weights: Floats) -> Floats:
    """As the word error rate, over the clips that are counted in characters."""
    return _error_rate(evidence, weights, "characters")


def _error_rate(evidence: Evidence, weights: Floats, unit: str) -> Floats:
    values = evidence.values
    length = values[unit]
    errors = values["substitutions"] + values["deletions"] + values["insertions"]
    # Errors of clips that are counted in the other unit are left out.
    return 100.0 * _ratio(weights @ np.where(length > 0, errors, 0.0), weights @ length)


def _ratio(above: Floats, below: Floats) -> Floats:
    """Divide, NaN where there is nothing to divide by."""
    ratio: Floats = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
    return ratio
