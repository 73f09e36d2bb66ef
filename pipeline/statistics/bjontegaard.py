"""Bjøntegaard deltas: the average difference of two rate–score curves, in bitrate and in score.

After Bjøntegaard (VCEG-M33, 2001): the curves are interpolated over log10 of the bitrate and the area between them is
divided by the length of the overlap. The piecewise cubic of Fritsch and Carlson (PCHIP), as in the common test
conditions of JCT-VC, needs only two points and does not oscillate between them; the single cubic of 2001 is kept for
comparison with older tables and needs four points or more on each curve.

A curve must increase, since the rate must be a function of the score. A point whose score is not above that of every
point at a lower bitrate is left out, because it is dominated, and the number of such points is reported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from codec_superb.pipeline.errors import PipelineError

Method = Literal["pchip", "cubic"]
MINIMUM: dict[Method, int] = {"pchip": 2, "cubic": 4}
"""Smallest number of increasing points on each curve."""


@dataclass(frozen=True, slots=True)
class RatePoint:
    """One codec of a family."""

    kbps: float
    """Measured bitrate."""
    score: float
    """From 0 to 1, or a metric's value."""
    codec: str = ""
    """Its name; '' where nobody asks for it."""


@dataclass(frozen=True, slots=True)
class RateDelta:
    """Deltas of one family relative to another."""

    rate_percent: float | None
    """BD-rate: bits needed for the same score, in %; negative when the family needs fewer. None without overlap."""
    score: float | None
    """BD-score: score gained at the same bitrate. None without overlap."""
    points: tuple[int, int]
    """Points used of the family and of the one it is compared with."""
    left_out: tuple[int, int]
    """Points left out because a codec of the same family at a lower bitrate scores as high."""
    reason: str = ""
    """Reason why a delta is None."""


def bjontegaard(family: Sequence[RatePoint], against: Sequence[RatePoint], *, method: Method = "pchip") -> RateDelta:
    """Bjøntegaard deltas of ``family`` relative to ``against``, each over the range of the axis that both curves cover.

    Raises PipelineError for a point whose bitrate is not positive or whose numbers are not finite.
    """
    curves = (rising(family), rising(against))
    used = (len(curves[0]), len(curves[1]))
    left_out = (len(family) - used[0], len(against) - used[1])
    if min(used) < MINIMUM[method]:
        reason = f"expected at least {MINIMUM[method]} rising points on each curve, got {used[0]} and {used[1]}"
        return RateDelta(None, None, used, left_out, reason)
    one, two = (np.array([(math.log10(point.kbps), point.score) for point in curve]).T for curve in curves)
    shift = _mean_gap((one[1], one[0]), (two[1], two[0]), method)
    gain = _mean_gap((one[0], one[1]), (two[0], two[1]), method)
    missing = [name for name, value in (("scores", shift), ("bitrates", gain)) if value is None]
    return RateDelta(
        # Bjøntegaard, VCEG-M33 (2001): the mean gap in log10 of the rate, as a factor
        rate_percent=None if shift is None else (10**shift - 1) * 100,
        score=gain,
        points=used,
        left_out=left_out,
        reason=f"the {' and the '.join(missing)} of the two curves do not overlap" if missing else "",
    )


def rising(points: Sequence[RatePoint]) -> list[RatePoint]:
    """Sort by bitrate and keep the points that score higher than all points at a lower bitrate.

    Raises PipelineError for a point whose bitrate is not positive or whose numbers are not finite.
    """
    for point in points:
        if not (math.isfinite(point.kbps) and point.kbps > 0 and math.isfinite(point.score)):
            raise PipelineError(f"expected a bitrate above 0 kbps and a finite score, got {point}")
    kept: list[RatePoint] = []
    # of two points at one rate only the better one lies on the curve
    for point in sorted(points, key=lambda point: (point.kbps, -point.score)):
        if not kept or point.score > kept[-1].score:
            kept.append(point)
    return kept


_Curve = tuple[NDArray[np.float64], NDArray[np.float64]]


def _mean_gap(one: _Curve, two: _Curve, method: Method) -> float | None:
    """Mean of ``one - two`` over the x that both curves cover; None when that is empty."""
    low, high = max(one[0][0], two[0][0]), min(one[0][-1], two[0][-1])
    if not high > low:
        return None
    return (_area(one, low, high, method) - _area(two, low, high, method)) / float(high - low)


def _area(curve: _Curve, low: float, high: float, method: Method) -> float:
    x, y = curve
    if method == "cubic":
        # VCEG-M33 as published; PCHIP, unlike it, does not overshoot between points
        whole = np.polynomial.Polynomial.fit(x, y, 3).integ()
        return float(whole(high) - whole(low))
    from scipy.interpolate import PchipInterpolator

    return float(PchipInterpolator(x, y).integrate(low, high))
