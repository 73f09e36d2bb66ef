"""Makes a value with its interval, the form of every score and application metric of an aggregate."""

from __future__ import annotations

import math

from codec_superb.metrics.results import Score
from codec_superb.pipeline.statistics.jackknife import Jackknife, interval


def score_of(found: Jackknife, lowest: float = -math.inf, highest: float = math.inf) -> Score:
    """Score with its interval; a value that is not finite becomes None, with nothing beside it."""
    value = float(found.point)
    if not math.isfinite(value):
        return Score(value=None, low=None, high=None)
    low, high = interval(found, lowest, highest) or (None, None)
    return Score(value=value, low=low, high=high)
