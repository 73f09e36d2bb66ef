"""Deviation of a score from those of codecs of similar bitrate, in robust standard deviations."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

BAND = 1.5
"""Ratio of bitrates, up and down, within which codecs are compared. The band is centred on the submission's bitrate on
a logarithmic scale, so that the increase of scores with bitrate does not shift the median."""
FEWEST = 5
"""Smallest number of senders in a band; the spread of fewer is unreliable."""
_NORMAL = 1.4826
"""Ratio of standard deviation to median absolute deviation for a normal distribution, 1 / Φ⁻¹(3/4)."""
_LEAST_SIGMA = 0.01
"""Lower limit of sigma for scores in [0, 1], so that a few codecs with nearly equal scores make no outlier."""


def votes(values: Iterable[tuple[Hashable, float]]) -> list[float]:
    """Return a value for each sender: the median of its own, so that copies of one account weigh nothing.

    >>> votes([("ann", 0.5), ("bob", 0.1), ("bob", 0.2), ("bob", 0.9)])
    [0.5, 0.2]
    """
    found: dict[Hashable, list[float]] = {}
    for sender, value in values:
        found.setdefault(sender, []).append(value)
    return [median(own) for own in found.values()]


@dataclass(frozen=True, slots=True)
class Deviation:
    """The median of the other scores, and the deviation from it."""

    median: float
    sigmas: float
    """Negative below the median."""


def deviation(score: float, others: Sequence[float]) -> Deviation | None:
    """Compare ``score`` with ``others``; None for fewer than :data:`FEWEST` others.

    Example: 0.5, 0.52, 0.54, 0.56, 0.58 have the median 0.54 and a median absolute deviation of 0.02, hence a sigma of
    0.0297; a score of 0.9 is 12.1 sigmas above.
    """
    if len(others) < FEWEST:
        return None
    middle = median(others)
    sigma = max(_LEAST_SIGMA, _NORMAL * median(abs(other - middle) for other in others))
    return Deviation(middle, (score - middle) / sigma)
