"""From the events of the bands to a contour: candidates with their scores, the best of each frame, and four repairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled
from codec_superb.metrics.world.bands import KINDS

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]

FRAME_MS = 5.0
_ALLOWED = 0.1
"""Relative change from frame to frame that a voice may make (WORLD's default)."""
_NO_SCORE, _TINY = 1e5, 1e-12
_EVENTS = 4
"""Of each kind, for three intervals: with fewer a band has no candidates."""


@compiled(error_model="numpy")
def contour(times: Reals, counts: Integers, rate: int, frames: int, floor: float, limits: Reals) -> Reals:
    """Return F0 in Hz of each frame, 0 where unvoiced.

    ``times`` and ``counts`` are those of :func:`codec_superb.metrics.world.bands.crossings`; ``limits`` are the upper
    ends of the bands in Hz and, last, the ceiling.
    """
    bands = limits.size - 1
    candidates = np.zeros((bands, frames))
    best, score = np.zeros(frames), np.full(frames, np.inf)
    four = np.empty((KINDS, frames))
    for band in range(bands):
        enough = True
        for kind in range(KINDS):
            enough = enough and counts[KINDS * band + kind] >= _EVENTS
        if enough:
            for kind in range(KINDS):
                row = KINDS * band + kind
                _interpolate(times[row, : counts[row]], rate, four[kind])
        for frame in range(frames):
            value, spread = 0.0, _NO_SCORE
            if enough:
                value, spread = _candidate(four, frame, floor, limits[bands], limits[band])
            candidates[band, frame] = value
            merit = spread / (value + _TINY)
            # of equals the lower band: it is asked first
            if merit < score[frame]:
                best[frame], score[frame] = value, merit
    return _repaired(best, candidates, floor)


@compiled(error_model="numpy")
def _interpolate(times: Reals, rate: int, out: Reals) -> None:
    """Draw straight lines through the rates of the intervals, which stand in their middles, and beyond both ends."""
    intervals = times.size - 1
    k = 1
    for frame in range(out.size):
        position = frame * FRAME_MS / 1000.0
        while k < intervals - 1 and position >= (times[k] + times[k + 1]) / 2.0 / rate:
            k += 1
        left, right = (times[k - 1] + times[k]) / 2.0 / rate, (times[k] + times[k + 1]) / 2.0 / rate
        low, high = rate / (times[k] - times[k - 1]), rate / (times[k + 1] - times[k])
        out[frame] = low + (position - left) / (right - left) * (high - low)


@compiled(error_model="numpy")
def _candidate(four: Reals, frame: int, floor: float, ceiling: float, limit: float) -> tuple[float, float]:
    """Return the mean of the four kinds and their deviation; no candidate where the mean lies outside the band."""
    a, b, c, d = four[0, frame], four[1, frame], four[2, frame], four[3, frame]
    mean = (a + b + c + d) / 4.0
    if mean > limit or mean < limit / 2.0 or mean > ceiling or mean < floor:
        return 0.0, _NO_SCORE
    squares = (a - mean) ** 2 + (b - mean) ** 2 + (c - mean) ** 2 + (d - mean) ** 2
    return mean, float(np.sqrt(squares / 3.0))


@compiled(error_model="numpy")
def _repaired(best: Reals, candidates: Reals, floor: float) -> Reals:
    """Drop jumps and the ends of voiced parts, then lead the contour on through the candidates, forwards and back."""
    frames = best.size
    shortest = int(0.5 + 1000.0 / FRAME_MS / floor) * 2 + 1
    if frames <= shortest:
        return np.zeros(frames)
    out = _steady(best, shortest)
    starts, ends = np.empty(frames, np.int64), np.empty(frames, np.int64)
    rising, falling = 0, 0
    for i in range(1, frames):
        if out[i] == 0.0 and out[i - 1] != 0.0:
            ends[falling] = i - 1
            falling += 1
        elif out[i - 1] == 0.0 and out[i] != 0.0:
            starts[rising] = i
            rising += 1
    for k in range(falling):
        # up to the end of the next part
        _lead_on(out, candidates, ends[k], frames - 1 if k == falling - 1 else ends[k + 1], 1)
    for k in range(rising - 1, -1, -1):
        _lead_on(out, candidates, starts[k], 1 if k == 0 else starts[k - 1], -1)
    return out


@compiled(error_model="numpy")
def _steady(best: Reals, shortest: int) -> Reals:
    """Return the contour without its ends, without jumps, and without frames that are near a gap."""
    frames = best.size
    best[:shortest] = 0.0
    best[frames - shortest :] = 0.0
    smooth = np.zeros(frames)
    for i in range(shortest, frames):
        if abs((best[i] - best[i - 1]) / (_TINY + best[i])) < _ALLOWED:
            smooth[i] = best[i]
    out = smooth.copy()
    around = (shortest - 1) // 2
    for i in range(around, frames - around):
        if smooth[i - around : i + around + 1].min() == 0.0:
            out[i] = 0.0
    return out


@compiled(error_model="numpy")
def _lead_on(out: Reals, candidates: Reals, start: int, stop: int, way: int) -> None:
    """Continue the contour from frame ``start`` towards ``stop``, by ``way`` of 1 or -1, until no candidate fits."""
    for j in range(start, stop, way):
        out[j + way] = _continued(out[j], out[j - way], candidates[:, j + way])
        if out[j + way] == 0.0:
            break


@compiled(error_model="numpy")
def _continued(last: float, before: float, candidates: Reals) -> float:
    """Return the candidate next to where the last two frames lead, 0 where none is near."""
    # WORLD goes on by half of the last step
    expected = (last * 3.0 - before) / 2.0
    best = candidates[0]
    for k in range(1, candidates.size):
        if abs(expected - candidates[k]) < abs(expected - best):
            best = candidates[k]
    return 0.0 if abs(1.0 - best / expected) > _ALLOWED else best
