"""Makes a value with its bootstrap interval, the form of every score and application metric of an aggregate."""

from __future__ import annotations

import math

from codec_superb.metrics.results import Score
from codec_superb.pipeline.statistics.bootstrap import Floats, interval


def score_of(value: float, replicates: Floats, n: int) -> Score:
    """Score with its interval; a value that is not finite becomes None, with nothing beside it."""
    if not math.isfinite(value):
        return Score(value=None, low=None, high=None)
    low, high = interval(replicates, n) or (None, None)
    return Score(value=value, low=low, high=high)
