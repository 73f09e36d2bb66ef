"""How far a score lies from the scores of codecs of about the same bitrate, in robust standard deviations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

BAND = 1.5
"""Factor in kbps, up and down, within which codecs are compared: one's own bitrate is then the middle of the band, and
the growth of scores with the bitrate leaves the median where it is."""
FEWEST = 5
"""Codecs that make a band: the spread of fewer is chance."""
_NORMAL = 1.4826
"""Median absolute deviation to standard deviation, for normally distributed numbers."""
_LEAST_SIGMA = 0.01
"""Of a score between 0 and 1: codecs that agree by chance to the third decimal make nobody an outlier."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """Where a score lies."""

    median: float
    sigmas: float
    """Negative below the median."""


def deviation(score: float, others: Sequence[float]) -> Deviation | None:
    """Compare ``score`` with ``others``; None where they are fewer than :data:`FEWEST`.

    Worked example: 0.9 among 0.5, 0.52, 0.54, 0.56, 0.58 has the median 0.54, a median absolute deviation of 0.02,
    hence a sigma of 0.0297, and lies 12.1 of them above.
    """
    if len(others) < FEWEST:
        return None
    middle = median(others)
    sigma = max(_LEAST_SIGMA, _NORMAL * median(abs(other - middle) for other in others))
    return Deviation(middle, (score - middle) / sigma)
