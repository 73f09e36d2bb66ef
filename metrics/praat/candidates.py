"""Candidates for the period of a frame: the maxima of its correlations, interpolated with windowed sines.

Between two lags such an interpolation is a smooth function of where between them. A polynomial through 15 of its
values is within 1e-12 of it, and its coefficients are sums of the correlations around, under weights that are always
the same. So a maximum is found from one product of a matrix by a vector.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]

_DEPTH, _COARSE_DEPTH, _GREAT_DEPTH = 70, 30, 700
"""Samples on either side that an interpolation takes: for the result, for choosing candidates, for very short
periods."""
MARGIN = _DEPTH + 2
"""Lags beyond the search that the interpolation of its last maxima takes."""
_SHORT = 3
"""Samples of a very short period."""
_TERMS = 15
_STEPS = 30
_CLOSE = 1e-6
"""Of half a sample: a step of Newton's method after which the next would be its square."""


class Search(NamedTuple):
    """Where candidates are looked for."""

    rate: float
    threshold: float
    """Correlation above which a maximum is a candidate."""
    longest: int
    """Lag before which the search ends."""
    floor: float
    ceiling: float
    octave_cost: float


class Found(NamedTuple):
    """Candidates of all frames; number 0 of each is "unvoiced"."""

    frequency: Reals
    """Hz, shape ``(frames, candidates)``."""
    strength: Reals
    number: Integers


class Interpolation(NamedTuple):
    """Weights of the correlations around a gap between two lags, for the polynomial over that gap."""

    tables: Reals
    """Shape ``(depths, terms, 2 * reach)``, with zeros beyond each depth; of x from -1 to 1 within the gap."""
    which: Integers
    """For each lag the table of the gap after it."""
    reach: int


def interpolations(lags: int, longest: int, shortest: float) -> tuple[Interpolation, Interpolation]:
    """Return how maxima between ``shortest`` and ``longest`` of so many ``lags`` are interpolated, and how coarsely."""
    low = np.arange(longest)
    fine = np.where((low <= _SHORT) & (shortest <= _SHORT + 1), _GREAT_DEPTH, _DEPTH)
    # as many lags on one side as on the other, those before lag 0 included
    room = np.minimum(lags + low, lags - 1 - low)
    return _interpolation(np.minimum(fine, room)), _interpolation(np.minimum(_COARSE_DEPTH, room))


def _interpolation(depths: Integers) -> Interpolation:
    kinds, which = np.unique(depths, return_inverse=True)
    reach = int(kinds[-1])
    nodes = np.cos(np.pi * (np.arange(_TERMS) + 0.5) / _TERMS)
    from_values = np.linalg.inv(np.vander(nodes, increasing=True))
    tables = np.zeros((kinds.size, _TERMS, 2 * reach))
    for table, depth in zip(tables, kinds, strict=True):
        after = np.arange(depth)
        # distances from lags before, nearest last, and from lags behind
        past = 0.5 + 0.5 * nodes[:, None]
        away = np.hstack([past + after[::-1], 1.0 - past + after])
        ends = np.hstack([np.broadcast_to(side, (_TERMS, depth)) for side in (past, 1.0 - past)])
        weights = np.sinc(away) * np.cos(0.5 * np.pi * away / (ends + depth)) ** 2
        table[:, reach - depth : reach + depth] = from_values @ weights
    return Interpolation(tables, which.astype(np.int64), reach)


@compiled(error_model="numpy")
def find_candidates(
    rows: Reals,
    centre: int,
    frames: Integers,
    search: Search,
    fine: Interpolation,
    coarse: Interpolation,
    found: Found,
) -> None:
    """Fill the rows ``frames`` of ``found``.

    ``rows`` come from :func:`codec_superb.metrics.praat.correlation.correlate`, with lag 0 at ``centre``.
    """
    lags, terms = np.empty(search.longest, np.int64), np.empty(_TERMS)
    for place in range(frames.size):
        row = rows[place]
        peaks = _peaks(row[centre:], search, lags)
        if peaks >= found.frequency.shape[1]:
            peaks = _strongest(row, centre, search, coarse, terms, lags[:peaks], found.frequency.shape[1] - 1)
        frame, total = frames[place], 1
        for number in range(peaks):
            peak = lags[number]
            if search.rate >= search.ceiling * (peak + 1):
                continue  # too high whatever the interpolation says: as good as unvoiced
            lag, top = _refined(row, centre, peak, fine, terms)
            found.frequency[frame, total] = search.rate / lag
            # as Praat reflects correlations around 1, which interpolation in short windows may exceed
            found.strength[frame, total] = 1.0 / top if top > 1.0 else top
            total += 1
        found.number[frame] = total


@compiled(error_model="numpy")
def _peaks(values: Reals, search: Search, lags: Integers) -> int:
    """Fill ``lags`` with those of the maxima above the threshold; return their number."""
    found = 0
    # lag 1 would be a pitch at the sampling rate
    for lag in range(2, search.longest):
        here = values[lag]
        if here > search.threshold and here > values[lag - 1] and here >= values[lag + 1]:
            lags[found] = lag
            found += 1
    return found


@compiled(error_model="numpy")
def _strongest(
    row: Reals, centre: int, search: Search, coarse: Interpolation, terms: Reals, lags: Integers, most: int
) -> int:
    """Keep in the first places of ``lags`` the ``most`` candidates that are strongest and highest; return ``most``."""
    merit = np.empty(most)
    for number in range(lags.size):
        peak = lags[number]
        move = _bow(row[centre + peak - 1], row[centre + peak], row[centre + peak + 1])
        low = peak if move >= 0.0 else peak - 1
        _expand(row, centre, low, coarse, terms)
        top = _value(terms, 2.0 * (peak + move - low) - 1.0)
        top = 1.0 / top if top > 1.0 else top
        # Boersma 1993: of equal maxima the shortest period wins, by the octave cost
        value = top - search.octave_cost * np.log2(search.floor * (peak + move) / search.rate)
        place = number if number < most else int(np.argmin(merit))
        if number < most or value > merit[place]:
            lags[place], merit[place] = peak, value
    return most


@compiled(error_model="numpy", fastmath={"contract", "reassoc"})
def _expand(row: Reals, centre: int, low: int, of: Interpolation, terms: Reals) -> None:
    """Fill ``terms`` with the polynomial between the lags ``low`` and ``low`` + 1."""
    table = of.tables[of.which[low]]
    values = row[centre + low - of.reach + 1 : centre + low + of.reach + 1]
    for term in range(terms.size):
        weights, total = table[term], 0.0
        for k in range(weights.size):
            total += weights[k] * values[k]
        terms[term] = total


@compiled(error_model="numpy")
def _value(terms: Reals, x: float) -> float:
    value = 0.0
    for term in range(terms.size - 1, -1, -1):
        value = value * x + terms[term]
    return value


@compiled(error_model="numpy")
def _slope(terms: Reals, x: float) -> tuple[float, float]:
    """Return the first and the second derivative."""
    slope, bend = 0.0, 0.0
    for term in range(terms.size - 1, 0, -1):
        bend = bend * x + slope
        slope = slope * x + term * terms[term]
    return slope, bend


@compiled(error_model="numpy")
def _refined(row: Reals, centre: int, peak: int, fine: Interpolation, terms: Reals) -> tuple[float, float]:
    """Return the lag near ``peak`` at which the interpolated correlation is largest, and how large it is."""
    before, here, after = row[centre + peak - 1], row[centre + peak], row[centre + peak + 1]
    move = _bow(before, here, after)
    first = peak if move >= 0.0 else peak - 1
    for low in (first, 2 * peak - 1 - first):
        _expand(row, centre, low, fine, terms)
        # the gap begins or ends at the peak; where it falls from there, the top is in the other one
        begin = -1.0 if low == peak else 1.0
        if _slope(terms, begin)[0] * begin < 0.0:
            x = _summit(terms, 2.0 * (peak + move - low) - 1.0)
            return low + 0.5 * (x + 1.0), _value(terms, x)
    return float(peak), here


@compiled(error_model="numpy")
def _summit(terms: Reals, x: float) -> float:
    """Return where between -1 and 1 the polynomial is largest, from ``x`` on by Newton's method within bounds."""
    low, high = -1.0, 1.0
    x = min(max(x, low), high)
    for _ in range(_STEPS):
        slope, bend = _slope(terms, x)
        if slope > 0.0:
            low = x
        else:
            high = x
        following = x - slope / bend if bend < 0.0 else np.inf
        if not low <= following <= high:
            following = 0.5 * (low + high)
        if abs(following - x) <= _CLOSE:
            return following
        x = following
    return x


@compiled(error_model="numpy")
def _bow(before: float, here: float, after: float) -> float:
    """Return where a parabola through a maximum and its neighbours has its top, at most half a lag away."""
    return 0.5 * (after - before) / (2.0 * here - before - after)
