"""Shares of counted answers: Wilson's interval, and how likely guessing is to be as right."""

from __future__ import annotations

import math
from typing import Final

Z: Final = 1.959963984540054
"""The normal distribution's quantile of 97.5 %."""


def wilson(successes: float, n: int) -> tuple[float, float] | None:
    """Return the ends of Wilson's 95 % interval of a share; None without a trial. Halves (ties) are fine.

    Wilson, Probable Inference, the Law of Succession, and Statistical Inference, JASA 1927. Raises ValueError for
    more successes than trials.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"expected 0 to {n} successes of {n}, got {successes}")
    if n == 0:
        return None
    share, square = successes / n, Z * Z
    centre = (share + square / (2 * n)) / (1 + square / n)
    arm = Z * math.sqrt(share * (1 - share) / n + square / (4 * n * n)) / (1 + square / n)
    # at the ends exactly: there rounding leaves some 1e-17 above 0 and below 1
    low = max(0.0, centre - arm) if successes else 0.0
    return low, min(1.0, centre + arm) if successes < n else 1.0


def guessing(right: int, n: int) -> float:
    """Return the probability that guessing between two is right at least ``right`` times of ``n``: exact, one-sided.

    Raises ValueError for more right answers than trials.
    """
    if not 0 <= right <= n:
        raise ValueError(f"expected 0 to {n} right answers of {n}, got {right}")
    from scipy.special import bdtrc

    return float(bdtrc(right - 1, n, 0.5)) if right else 1.0
