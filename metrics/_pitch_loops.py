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
_REACH = 0.12
"""Samples on either side of a maximum through which its parabola is laid."""
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
            row[k] = (under[k] - mean) * taper[k]
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
    """Return correlations over that of the ``window``, mirrored: lag 0 stands at column ``window.size - 1``."""
    centre = window.size - 1
    out = np.zeros((raw.shape[0], 2 * centre + 1))
    for frame in range(raw.shape[0]):
        energy = float(raw[frame, 0])
        if energy <= 0.0:
            continue
        row = out[frame]
        row[centre] = 1.0
        for lag in range(1, window.size):
            value = raw[frame, lag] / (energy * window[lag])
            row[centre + lag] = value
            row[centre - lag] = value
    return out


@compiled(error_model="numpy")
def interpolated(values: Reals, x: float, depth: int) -> float:
    """Return ``values`` at the fractional index ``x`` by Hann-windowed sines over ``depth`` samples on either side."""
    low = int(np.floor(x))
    if x == low:
        return float(values[low])
    depth = min(depth, low + 1, values.size - 1 - low)
    total = 0.0
    for side in range(2):
        distance = x - low if side == 0 else low + 1 - x
        direction = -1 if side == 0 else 1
        angle = np.pi / (distance + depth)
        now, before = np.cos(distance * angle), np.cos((distance - 1.0) * angle)
        double, sign, place = 2.0 * np.cos(angle), 1.0, low + side
        part = 0.0
        for k in range(depth):
            part += sign * values[place] * (1.0 + now) / (distance + k)
            now, before = double * now - before, now  # cosines of equal steps
            sign, place = -sign, place + direction
        total += part * np.sin(np.pi * distance)
    return float(total * 0.5 / np.pi)


@compiled(error_model="numpy")
def _refined(values: Reals, peak: int, depth: int) -> tuple[float, float]:
    """Return where between the neighbours of ``peak`` the interpolated ``values`` are largest, and how large."""
    x = peak + _bow(values[peak - 1], values[peak], values[peak + 1])
    points = np.empty(3)
    for _ in range(_STEPS):
        for k in range(3):
            points[k] = interpolated(values, x + (k - 1) * _REACH, depth)
        if points[1] < values[peak] and x != peak:
            x = float(peak)  # the parabola led astray, over a dip
            continue
        move = _REACH * _bow(points[0], points[1], points[2])
        if abs(move) <= _REACH:
            break
        x = min(max(x + move, peak - 0.9), peak + 0.9)
    return x + move, points[1] + 0.25 * (points[2] - points[0]) * move / _REACH


@compiled(error_model="numpy")
def _bow(before: float, here: float, after: float) -> float:
    """Return where a parabola through three values one apart has its top, relative to the middle; at most 3 away."""
    bend = 2.0 * here - before - after
    if bend <= 0.0:
        return 3.0 if after > before else -3.0
    return min(max(0.5 * (after - before) / bend, -3.0), 3.0)


@compiled(error_model="numpy")
def find_candidates(correlations: Reals, search: Search, frequency: Reals, strength: Reals, count: Integers) -> None:
    """Fill for each frame the frequencies and strengths of its candidates; number 0 is "unvoiced"."""
    centre = correlations.shape[1] // 2
    lags = np.empty(search.longest, np.int64)
    for frame in range(correlations.shape[0]):
        values = correlations[frame]
        found = _peaks(values, centre, search, lags)
        if found >= frequency.shape[1]:
            found = _strongest(values, centre, search, lags[:found], frequency.shape[1] - 1)
        total = 1
        for lag in lags[:found]:
            if search.rate >= search.ceiling * (lag + 1):
                continue  # too high whatever the interpolation says: as good as unvoiced
            place, top = _refined(values, centre + lag, _DEPTH if lag > _SHORT else _GREAT_DEPTH)
            frequency[frame, total] = search.rate / (place - centre)
            strength[frame, total] = 1.0 / top if top > 1.0 else top
            total += 1
        count[frame] = total


@compiled(error_model="numpy")
def _peaks(values: Reals, centre: int, search: Search, lags: Integers) -> int:
    """Fill ``lags`` with those of the maxima above the threshold; return their number."""
    found = 0
    for lag in range(2, search.longest):
        here = values[centre + lag]
        if here > search.threshold and here > values[centre + lag - 1] and here >= values[centre + lag + 1]:
            lags[found] = lag
            found += 1
    return found


@compiled(error_model="numpy")
def _strongest(values: Reals, centre: int, search: Search, lags: Integers, most: int) -> int:
    """Keep in the first places of ``lags`` the ``most`` candidates that are strongest and highest; return ``most``."""
    merit = np.empty(most)
    for number in range(lags.size):
        peak = centre + lags[number]
        x = peak + _bow(values[peak - 1], values[peak], values[peak + 1])
        top = interpolated(values, x, _COARSE_DEPTH)
        top = 1.0 / top if top > 1.0 else top
        value = top - search.octave_cost * np.log2(search.floor * (x - centre) / search.rate)
        place = number if number < most else int(np.argmin(merit))
        if number < most or value > merit[place]:
            lags[place], merit[place] = lags[number], value
    return most


@compiled(error_model="numpy")
def cheapest_path(
    frequency: Reals, strength: Reals, count: Integers, unvoiced: Reals, ceiling: float, costs: Reals
) -> Reals:
    """Return the frequencies along the path with the greatest strength after the ``costs`` of octaves, jumps,
    voicing.
    """
    octave, jump, voicing = costs
    frames, most = frequency.shape
    score, chosen = np.zeros((frames, most)), np.zeros((frames, most), np.int64)
    for frame in range(frames):
        for k in range(count[frame]):
            pitch = frequency[frame, k]
            own = unvoiced[frame]
            voiced = 0.0 < pitch < ceiling
            if voiced:
                own = strength[frame, k] - octave * np.log2(ceiling / pitch)
            if frame == 0:
                score[frame, k] = own
                continue
            best = -1e30
            for j in range(count[frame - 1]):
                before = frequency[frame - 1, j]
                before_voiced = 0.0 < before < ceiling
                cost = 0.0
                if voiced and before_voiced:
                    cost = jump * abs(np.log2(before / pitch))
                elif voiced != before_voiced:
                    cost = voicing
                value = score[frame - 1, j] - cost + own
                if value > best:
                    best = value
                    chosen[frame, k] = j
            score[frame, k] = best
    out = np.zeros(frames)
    place = 0
    for k in range(count[frames - 1]):
        if score[frames - 1, k] > score[frames - 1, place]:
            place = k
    for frame in range(frames - 1, -1, -1):
        pitch = frequency[frame, place]
        out[frame] = pitch if pitch < ceiling else 0.0
        place = chosen[frame, place]
    return out
