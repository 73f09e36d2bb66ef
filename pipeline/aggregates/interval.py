"""A value with its interval: what every score and figure of an aggregate is."""

from __future__ import annotations

import math
from typing import Final

from pydantic import FiniteFloat

from codec_superb.pipeline.statistics.bootstrap import Floats, interval
from codec_superb.pipeline.tables.record import Record


class Score(Record):
    """A value with its 95 % bootstrap interval; an overall score is None when one of its metrics has no mean."""

    value: FiniteFloat | None
    """An overall score is between 0 and 1, higher is better."""
    low: FiniteFloat | None
    """Lower end of the interval."""
    high: FiniteFloat | None
    """Upper end."""


def score_of(value: float, replicates: Floats, n: int) -> Score:
    """Score with its interval; a value that is not finite becomes None, with nothing beside it."""
    if not math.isfinite(value):
        return Score(value=None, low=None, high=None)
    low, high = interval(replicates, n) or (None, None)
    return Score(value=value, low=low, high=high)


NO_SCORE: Final = Score(value=None, low=None, high=None)
