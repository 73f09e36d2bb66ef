"""Delay between two signals: coarse, from the activity of whole stretches, and fine, from the samples.

The fine delay is a vote. Every 64 ms frame (stepping by a quarter) is correlated with its counterpart at the coarse
delay; each lag whose correlation is within 1 % of the frame's greatest gets that correlation to the power of 1/8.
The votes, smoothed by a triangle, give the delay, and the winner's share of all votes is the confidence.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled
from codec_superb.metrics.p862.alignment.frames import NEAR, Workspace, correlate_frames
from codec_superb.metrics.p862.arithmetic.exact_fft import TwiddleFactors, correlation
from codec_superb.metrics.p862.arithmetic.rows import LANES
from codec_superb.metrics.p862.tables import OPTIONS

Signal = NDArray[np.float32]

_ZERO, _ONE = np.float32(0), np.float32(1)
# the eighth root is why votes differ in their last bits from one transform to another (decision 4)
_VOTE_POWER = 0.125


def toward_zero(value: int, divisor: int) -> int:
    """Integer division that rounds towards zero, as the standard's programme does."""
    return value // divisor if value >= 0 else -(-value // divisor)


_toward_zero = compiled(**OPTIONS)(toward_zero)


@compiled(**OPTIONS)
def overlap(start: int, stop: int, estimate: int, window: int, length: int, lengths: int) -> tuple[int, int, int, int]:
    """Where in two activities a stretch begins that is late by ``estimate`` samples, and how long it is in each.

    ``length`` and ``lengths`` are those of the activities. Gives begin and length in the first, then in the second.
    """
    other = start + _toward_zero(estimate, window)
    if other < 0:
        start, other = _toward_zero(-estimate, window), 0
    count = min(stop, length) - start
    return start, count, other, min(count, lengths - other)


@compiled(**OPTIONS)
def shifts_spilt(lengths: int, room: int) -> int:
    """How many values ``best_shift`` spills into ``room`` numbers; ``lengths`` are those of both signals together."""
    return min(lengths - 1 - 3 * room - 6, room)


@compiled(**OPTIONS)
def coarse_delays(
    first: Signal,
    second: Signal,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    estimate: int,
    window: int,
    table: TwiddleFactors,
    spill: Signal,
) -> NDArray[np.int64]:
    """Delays in samples, multiples of ``window`` around ``estimate``, of activity windows from starts to stops.

    ``first`` and ``second`` hold the logarithmic activity of both signals, one number a window. ``spill`` takes what
    ``best_shift`` spills, one stretch after the other.
    """
    delays = np.empty(len(starts), np.int64)
    room = np.empty((6, room_length(len(first), len(second))), np.float32)
    for i in range(len(starts)):
        start, count, other, others = overlap(starts[i], stops[i], estimate, window, len(first), len(second))
        delays[i] = estimate
        if count > 1 and others > 1:
            delays[i] += window * best_shift(
                first[start : start + count], second[other : other + others], table, spill, room
            )
    return delays


@compiled(**OPTIONS)
def room_length(first: int, second: int) -> int:
    """Return the length of the transforms with which ``best_shift`` correlates signals of these lengths."""
    size = 4 * LANES
    while size < 2 * max(first, second):
        size *= 2
    return size


@compiled(**OPTIONS)
def best_shift(first: Signal, second: Signal, table: TwiddleFactors, spill: Signal, room: Signal) -> int:
    """By how many places ``second`` is behind ``first``, from their cross-correlation.

    ``spill`` is overwritten with the correlation
    from value ``3 * len(spill) + 6`` on, as far as there is one: see ``splitting``. ``room`` has shape (6, any length
    that is enough).
    """
    size = room_length(len(first), len(second))
    inside = room.reshape(-1)[: 6 * size].reshape((6, size))
    both = correlation(first[::-1], second, 1.0, table, inside)
    best, shift, behind = _ZERO, 0, 3 * len(spill) + 6
    scale = _ONE / np.float32(size)
    for i in range(len(first) + len(second) - 1):
        if both[i] > best:
            best, shift = both[i], i - len(first) + 1
    for i in range(behind, min(behind + len(spill), len(first) + len(second) - 1)):
        spill[i - behind] = both[i] * scale
    return shift


@compiled(**OPTIONS)
def vote_of(limit: np.float32) -> np.float32:
    """Say what a lag gets from a frame whose limit this is."""
    return np.float32(math.pow(np.float64(limit), _VOTE_POWER))


@compiled(**OPTIONS)
def frames_before(start: int, other: int, limit: int, end: int, at: Workspace) -> int:
    """How many frames from ``start`` end by ``limit`` and, in the other signal from ``other``, by ``end``."""
    left = min(end - at.length - other, limit - at.length - start)
    return left // at.hop + 1 if left >= 0 else 0


@compiled(**OPTIONS)
def greatest(values: Signal) -> np.float32:
    """Return the greatest of numbers of which none is negative, or 0."""
    # the bits of such numbers are in their order, and the compiler works on many integers at once
    bits = values.view(np.int32)
    best = np.int32(0)
    for i in range(len(bits)):
        best = max(best, bits[i])
    loudest: np.float32 = np.full(1, best, np.int32).view(np.float32)[0]
    return loudest


@compiled(**OPTIONS)
def winner(votes: Signal, at: Workspace) -> tuple[int, np.float32]:
    """Find the lag with most votes, negative in the upper half, and its votes."""
    best = greatest(votes)
    lag, rivals = len(votes), 0
    near = best * (_ONE - NEAR)
    for i in range(len(votes)):
        lag = min(lag, i if votes[i] == best else len(votes))
        rivals += votes[i] > near
    if rivals > 1:
        at.doubts[0] = True
    return (lag - len(votes) if lag >= len(votes) // 2 else lag), best


@compiled(**OPTIONS)
def _smoothed(votes: Signal, at: Workspace) -> Signal:
    triangle = np.zeros(at.length, np.float32)
    triangle[0] = _ONE
    for i in range(1, at.kernel):
        triangle[i] = _ONE - np.float32(i) / np.float32(at.kernel)
        triangle[at.length - i] = triangle[i]
    both = correlation(votes, triangle, 1.0, at.twiddle_factors, np.empty((6, at.length), np.float32))
    smooth = np.empty(at.length, np.float32)
    for i in range(at.length):
        smooth[i] = abs(both[i] * at.scale[0])
    return smooth


@compiled(**OPTIONS)
def fine_delay(
    first: Signal, second: Signal, start: int, stop: int, estimate: int, end: int, at: Workspace
) -> tuple[int, np.float32]:
    """Delay in samples and confidence for samples ``start`` to ``stop`` of ``first``, near ``estimate``.

    ``end`` is where ``second`` ends.
    """
    other = start + estimate
    if other < 0:
        start, other = -estimate, 0
    votes = np.zeros(at.length, np.float32)
    total = frames_before(start, other, stop, end, at)
    for begin in range(0, total, LANES):
        count = min(LANES, total - begin)
        correlate_frames(first, second, start + begin * at.hop, other + begin * at.hop, at.hop, count, at.window, at)
        for lane in range(count):
            vote = vote_of(at.limits[lane])
            for i in range(at.found[lane]):
                votes[at.lags[lane, i]] += vote
    everything = _ZERO
    for vote in votes:
        everything += vote
    smooth = _smoothed(votes, at)
    for i in range(at.length):
        smooth[i] = smooth[i] / everything if everything > _ZERO else _ZERO
    lag, confidence = winner(smooth, at)
    return estimate + lag, confidence
