"""Delay between two signals: coarse, from the activity of whole stretches, and fine, from the samples.

The fine delay is a vote. Every 64 ms frame (stepping by a quarter) is correlated with its counterpart at the coarse
delay; each lag whose correlation is within 1 % of the frame's greatest gets that correlation to the power of 1/8.
The votes, smoothed by a triangle, give the delay, and the winner's share of all votes is the confidence.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled
from codec_superb.metrics.p862.stepwise import (
    Turns,
    correlation,
    per_thread,
    real_part_lanes,
    reversed_bits,
    transform_real_lanes,
    turns,
)
from codec_superb.metrics.p862.tables import OPTIONS
from codec_superb.metrics.p862.vector import LANES, cross_row, keep_loudest, lanes_above, load_lanes

Signal = NDArray[np.float32]

_ZERO, _ONE = np.float32(0), np.float32(1)
_NEARLY = np.float32(0.99)
_VOTE_POWER = 0.125


class Bench(NamedTuple):
    """Tables and room for the correlation of sixteen frames at once."""

    length: int
    hop: int
    kernel: int
    """Half width of the triangle that smooths votes."""
    window: Signal
    turns: Turns
    places: NDArray[np.int64]
    """Where a transform of ``length`` leaves bin k."""
    scale: Signal
    room: NDArray[np.float32]
    """Six arrays of sixteen frames: real and imaginary parts of both signals and of their product."""
    starts: NDArray[np.int64]
    limits: Signal
    """1 % below the greatest correlation of each frame."""
    found: NDArray[np.int64]
    """How many lags of each frame get a vote."""
    lags: NDArray[np.int64]
    """Which, of shape (16, length)."""


@per_thread
def bench(length: int) -> Bench:
    """Return the calling thread's bench for frames of ``length`` samples."""
    angles = 2 * np.pi * np.arange(length) / length
    return Bench(
        length=length,
        hop=length // 4,
        kernel=length // 64,
        window=(0.5 * (1.0 - np.cos(angles))).astype(np.float32),
        turns=turns(length),
        places=reversed_bits(length),
        scale=np.full(1, 1 / length, np.float32),
        room=np.empty((6, LANES * length), np.float32),
        starts=np.empty(LANES, np.int64),
        limits=np.empty(LANES, np.float32),
        found=np.empty(LANES, np.int64),
        lags=np.empty((LANES, length), np.int64),
    )


def toward_zero(value: int, divisor: int) -> int:
    """Integer division that rounds towards zero, as the standard's programme does."""
    return value // divisor if value >= 0 else -(-value // divisor)


_toward_zero = compiled(**OPTIONS)(toward_zero)


@compiled(**OPTIONS)
def coarse_delays(
    first: Signal,
    second: Signal,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    estimate: int,
    window: int,
    table: Turns,
    spill: Signal,
) -> NDArray[np.int64]:
    """Delays in samples, multiples of ``window`` around ``estimate``, of activity windows from starts to stops.

    ``first`` and ``second`` hold the logarithmic activity of both signals, one number a window. ``spill`` takes what
    ``best_shift`` spills, one stretch after the other.
    """
    delays = np.empty(len(starts), np.int64)
    room = np.empty((6, room_length(len(first), len(second))), np.float32)
    for i in range(len(starts)):
        start, other = starts[i], starts[i] + _toward_zero(estimate, window)
        if other < 0:
            start, other = _toward_zero(-estimate, window), 0
        count = min(stops[i], len(first)) - start
        others = min(count, len(second) - other)
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
def best_shift(first: Signal, second: Signal, table: Turns, spill: Signal, room: Signal) -> int:
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
def _load(signal: Signal, start: int, hop: int, count: int, window: Signal, at: Bench, which: int) -> None:
    for lane in range(LANES):
        at.starts[lane] = start + min(lane, count - 1) * hop
    for i in range(0, at.length, LANES):
        load_lanes(signal, at.starts, window, at.room[which], i)


@compiled(**OPTIONS)
def correlate_frames(
    first: Signal, second: Signal, start: int, other: int, hop: int, count: int, window: Signal, at: Bench
) -> None:
    """Correlate up to sixteen frames: of ``first`` from ``start`` and of ``second`` from ``other``, every ``hop``."""
    room = at.room
    length, places = at.length, at.places
    _load(first, start, hop, count, window, at, 0)
    _load(second, other, hop, count, window, at, 2)
    transform_real_lanes(room[0], room[1], at.turns.cosines, at.turns.sines)
    transform_real_lanes(room[2], room[3], at.turns.cosines, at.turns.sines)
    for k in range(length // 2 + 1):
        mirror = (length - k) % length
        cross_row(room[0], room[1], room[2], room[3], room[4], room[5], places[k] * LANES, k * LANES, mirror * LANES)
    real_part_lanes(room[4], room[5], at.turns.cosines, at.turns.back)
    _collect(at, count)


@compiled(**OPTIONS)
def _collect(at: Bench, count: int) -> None:
    """List the lags of every frame that get a vote."""
    limits, correlation = at.limits, at.room[4]
    keep_loudest(correlation, at.scale, limits, at.length)
    for lane in range(LANES):
        limits[lane] *= _NEARLY
        at.found[lane] = 0
    for lag in range(at.length):
        lanes = lanes_above(correlation, limits, at.places[lag] * LANES)
        lane = 0
        while lanes:
            if lanes & 1 and lane < count:
                at.lags[lane, at.found[lane]] = lag
                at.found[lane] += 1
            lanes >>= 1
            lane += 1


@compiled(**OPTIONS)
def vote_of(limit: np.float32) -> np.float32:
    """Say what a lag gets from a frame whose limit this is."""
    return np.float32(math.pow(np.float64(limit), _VOTE_POWER))


@compiled(**OPTIONS)
def frames_before(start: int, other: int, limit: int, end: int, at: Bench) -> int:
    """How many frames from ``start`` end by ``limit`` and, in the other signal from ``other``, by ``end``."""
    left = min(end - at.length - other, limit - at.length - start)
    return left // at.hop + 1 if left >= 0 else 0


@compiled(**OPTIONS, fastmath={"nnan", "nsz", "reassoc"})
def _greatest(votes: Signal) -> np.float32:
    best = _ZERO
    for vote in votes:
        best = max(best, vote)
    return best


@compiled(**OPTIONS)
def winner(votes: Signal) -> tuple[int, np.float32]:
    """Find the lag with most votes, negative in the upper half, and its votes."""
    best = _greatest(votes)
    lag = 0
    while lag < len(votes) - 1 and votes[lag] != best:
        lag += 1
    if best == _ZERO:
        lag = 0
    return (lag - len(votes) if lag >= len(votes) // 2 else lag), best


@compiled(**OPTIONS)
def _smoothed(votes: Signal, at: Bench) -> Signal:
    triangle = np.zeros(at.length, np.float32)
    triangle[0] = _ONE
    for i in range(1, at.kernel):
        triangle[i] = _ONE - np.float32(i) / np.float32(at.kernel)
        triangle[at.length - i] = triangle[i]
    both = correlation(votes, triangle, 1.0, at.turns, np.empty((6, at.length), np.float32))
    smooth = np.empty(at.length, np.float32)
    for i in range(at.length):
        smooth[i] = abs(both[i] * at.scale[0])
    return smooth


@compiled(**OPTIONS)
def fine_delay(
    first: Signal, second: Signal, start: int, stop: int, estimate: int, end: int, at: Bench
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
    lag, confidence = winner(smooth)
    return estimate + lag, confidence
