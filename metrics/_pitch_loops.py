"""Compiled loops of the autocorrelation pitch: frames, candidates with interpolated maxima, and the cheapest path."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled

Reals = NDArray[np.float64]
Singles = NDArray[np.float32]
Integers = NDArray[np.int64]

_DEPTH, _COARSE_DEPTH, _GREAT_DEPTH = 70, 30, 700
"""Samples on either side that an interpolation takes: for the result, for choosing candidates, for very short
periods."""
MARGIN = _DEPTH + 2
"""Lags beyond the search that the interpolation of its last maxima takes."""
_SHORT = 3
"""Samples of a very short period."""
_REACH = 0.03
"""Samples on either side of a maximum through which its parabola is laid."""
_NEAR = 1e-3
"""The same for the last parabola. Nearer points would drown in the rounding of the interpolation."""
_STEPS = 8


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


@compiled(error_model="numpy", fastmath={"contract", "reassoc"})
def windowed(samples: Reals, left: Integers, taper: Reals, period: int) -> tuple[Singles, Reals]:
    """Return the frames without their local mean under the ``taper``, and the largest magnitude near each centre."""
    size = taper.size
    half, reach = size // 2, period // 2 + 1
    frames, levels = np.empty((left.size, size), np.float32), np.zeros(left.size)
    for frame in range(left.size):
        right = left[frame] + 1
        around, under = samples[right - period : right + period], samples[right - half : right + half]
        mean = 0.0
        for k in range(around.size):
            mean += around[k]
        mean /= around.size
        row = frames[frame]
        for k in range(size):
            # Praat's local mean: one longest period to either side of the centre, not the whole window
            row[k] = (under[k] - mean) * taper[k]
        # Praat's local peak: half a longest period to either side of the centre
        near = row[max(0, half - reach) : min(size, half + reach)]
        level = np.float32(0.0)
        for k in range(near.size):
            level = max(level, abs(near[k]))
        levels[frame] = level
    return frames, levels


@compiled(error_model="numpy", fastmath={"contract"})
def power(spectra: NDArray[np.complex64]) -> NDArray[np.complex64]:
    """Return the squared magnitudes, in place."""
    for frame in range(spectra.shape[0]):
        for k in range(spectra.shape[1]):
            value = spectra[frame, k]
            spectra[frame, k] = value.real * value.real + value.imag * value.imag
    return spectra


@compiled(error_model="numpy")
def corrected(raw: Singles, window: Reals) -> Reals:
    """Return correlations over that of the ``window``, shape ``(frames, lags)``; zeros for an empty frame."""
    out = np.zeros((raw.shape[0], window.size))
    for frame in range(raw.shape[0]):
        energy = float(raw[frame, 0])
        if energy <= 0.0:
            continue
        row = out[frame]
        for lag in range(window.size):
            # Boersma 1993: the correlation of the signal is about that of the windowed signal over that of the window;
            # without the division long lags look weak
            row[lag] = raw[frame, lag] / (energy * window[lag])
    return out


@compiled(error_model="numpy")
def mirrored(values: Reals) -> Reals:
    """Return ``values`` on both sides of lag 0, which stands in the middle, every odd lag with its sign changed.

    The sines of an interpolation alternate in sign from sample to sample; here this is paid once.
    """
    centre = values.size - 1
    out = np.empty(2 * centre + 1)
    for lag in range(values.size):
        value = values[lag] if lag % 2 == 0 else -values[lag]
        out[centre + lag] = value
        out[centre - lag] = value
    return out


@compiled(error_model="numpy")
def interpolated(signed: Reals, lag: float, depth: int) -> float:
    """Return a correlation at a fractional ``lag`` by Hann-windowed sines over ``depth`` samples on either side.

    ``signed`` comes from :func:`mirrored`, so that the samples before the lag, read backwards, are those after its
    mirror.
    """
    centre = signed.size // 2
    low = int(np.floor(lag))
    sign = 1.0 if low % 2 == 0 else -1.0
    if lag == low:
        # an interpolation by sines goes through the samples
        return float(sign * signed[centre + low])
    depth = min(depth, centre + low + 1, centre - low)
    distance = lag - low
    before = _weighted(signed[centre - low : centre - low + depth], distance, depth)
    after = _weighted(signed[centre + low + 1 : centre + low + 1 + depth], 1.0 - distance, depth)
    return float(sign * (before - after) * np.sin(np.pi * distance) / np.pi)


@compiled(error_model="numpy", fastmath={"contract", "reassoc", "arcp"})
def _weighted(values: Reals, distance: float, depth: int) -> float:
    """Return the sum of ``values`` over their distances under half of a Hann window: cos² by its series, to 1e-14."""
    scale = 0.5 * np.pi / (distance + depth)
    total = 0.0
    for k in range(values.size):
        away = distance + k
        w = (away * scale) ** 2
        # 1 / n! with alternating signs, up to n = 14
        series = -1 / 720 + w * (1 / 40320 + w * (-1 / 3628800 + w * (1 / 479001600 + w * (-1 / 87178291200))))
        cosine = 1.0 + w * (-0.5 + w * (1 / 24 + w * series))
        total += values[k] * cosine * cosine / away
    return total


@compiled(error_model="numpy")
def _refined(signed: Reals, peak: int, depth: int) -> tuple[float, float]:
    """Return the lag near ``peak`` at which the interpolated correlation is largest, and how large it is."""
    centre = signed.size // 2
    sign = 1.0 if peak % 2 == 0 else -1.0
    here = sign * signed[centre + peak]
    lag = peak + _bow(-sign * signed[centre + peak - 1], here, -sign * signed[centre + peak + 1])
    points = np.empty(3)
    for _ in range(_STEPS):
        for k in range(3):
            points[k] = interpolated(signed, lag + (k - 1) * _REACH, depth)
        if points[1] < here and lag != peak:
            lag = float(peak)  # the parabola led astray, over a dip
            continue
        move = _REACH * _bow(points[0], points[1], points[2])
        lag = min(max(lag + move, peak - 0.9), peak + 0.9)
        if abs(move) <= _REACH:
            break
    # a parabola through points that far apart misses a lopsided top; one through near points does not
    for k in range(3):
        points[k] = interpolated(signed, lag + (k - 1) * _NEAR, depth)
    move = _NEAR * _bow(points[0], points[1], points[2])
    # value of the parabola at its top
    return lag + move, points[1] + 0.25 * (points[2] - points[0]) * move / _NEAR


@compiled(error_model="numpy")
def _bow(before: float, here: float, after: float) -> float:
    """Return where a parabola through three values one apart has its top, relative to the middle; at most 3 away."""
    bend = 2.0 * here - before - after
    if bend <= 0.0:
        # no top here: step towards the larger side
        return 3.0 if after > before else -3.0
    return min(max(0.5 * (after - before) / bend, -3.0), 3.0)


@compiled(error_model="numpy")
def find_candidates(
    correlations: Reals, frames: Integers, search: Search, frequency: Reals, strength: Reals, count: Integers
) -> None:
    """Fill the rows ``frames`` with the frequencies and strengths of their candidates; number 0 is "unvoiced"."""
    lags = np.empty(correlations.shape[1], np.int64)
    for row in range(frames.size):
        found = _peaks(correlations[row], search, lags)
        if found == 0:
            continue
        signed = mirrored(correlations[row])
        if found >= frequency.shape[1]:
            found = _strongest(signed, search, lags[:found], frequency.shape[1] - 1)
        frame, total = frames[row], 1
        for peak in lags[:found]:
            if search.rate >= search.ceiling * (peak + 1):
                continue  # too high whatever the interpolation says: as good as unvoiced
            lag, top = _refined(signed, peak, _DEPTH if peak > _SHORT else _GREAT_DEPTH)
            frequency[frame, total] = search.rate / lag
            # as Praat reflects correlations around 1, which interpolation in short windows may exceed
            strength[frame, total] = 1.0 / top if top > 1.0 else top
            total += 1
        count[frame] = total


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
def _strongest(signed: Reals, search: Search, lags: Integers, most: int) -> int:
    """Keep in the first places of ``lags`` the ``most`` candidates that are strongest and highest; return ``most``."""
    centre = signed.size // 2
    merit = np.empty(most)
    for number in range(lags.size):
        peak = lags[number]
        sign = 1.0 if peak % 2 == 0 else -1.0
        around = signed[centre + peak - 1 : centre + peak + 2] * sign
        lag = peak + _bow(-around[0], around[1], -around[2])
        top = interpolated(signed, lag, _COARSE_DEPTH)
        top = 1.0 / top if top > 1.0 else top
        # Boersma 1993: of equal maxima the shortest period wins, by the octave cost
        value = top - search.octave_cost * np.log2(search.floor * lag / search.rate)
        place = number if number < most else int(np.argmin(merit))
        if number < most or value > merit[place]:
            lags[place], merit[place] = peak, value
    return most


@compiled(error_model="numpy")
def _cost(before: float, after: float, jump: float, voicing: float) -> float:
    """Return what it costs to go from one pitch to the next; 0 stands for unvoiced."""
    if before > 0.0 and after > 0.0:
        # Boersma 1993: the cost of a jump is per octave
        return float(jump * abs(np.log2(before / after)))
    return voicing if before > 0.0 or after > 0.0 else 0.0


@compiled(error_model="numpy")
def cheapest_path(
    frequency: Reals, strength: Reals, count: Integers, unvoiced: Reals, ceiling: float, costs: Reals
) -> Reals:
    """Return the frequencies along the path of the greatest strength, less the costs (octave, jump, voicing)."""
    octave, jump, voicing = costs
    frames, most = frequency.shape
    chosen = np.zeros((frames, most), np.int64)
    score, before = np.zeros(most), np.zeros(most)
    for frame in range(frames):
        for k in range(count[frame]):
            pitch = frequency[frame, k]
            own = unvoiced[frame]
            if 0.0 < pitch < ceiling:
                # relative to the ceiling as in Praat's path finder; the constant changes no path
                own = strength[frame, k] - octave * np.log2(ceiling / pitch)
            else:
                frequency[frame, k] = pitch = 0.0
            best = 0.0 if frame == 0 else -np.inf
            for j in range(count[frame - 1] if frame > 0 else 0):
                value = before[j] - _cost(frequency[frame - 1, j], pitch, jump, voicing)
                if value > best:
                    best = value
                    chosen[frame, k] = j
            # Viterbi's algorithm: only the best way to each candidate is kept
            score[k] = best + own
        before[:] = score
    out = np.zeros(frames)
    place = int(np.argmax(before[: count[frames - 1]]))
    for frame in range(frames - 1, -1, -1):
        out[frame] = frequency[frame, place]
        place = chosen[frame, place]
    return out
