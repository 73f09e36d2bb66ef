"""Correlate frames of both signals, sixteen at a time, and list the lags of each frame that get a vote.

What counts of a correlation is which lags come within 1 % of its greatest value. That is found with a quick transform
that rounds otherwise than the standard's programme. Where a lag is so near the limit that rounding might decide, or
nothing but the smallest numbers is left of a signal, the frames are worked out again with the plain transform.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled
from codec_superb.metrics.hann import hann
from codec_superb.metrics.p862.arithmetic.exact_fft import (
    TwiddleFactors,
    per_thread,
    real_part_lanes,
    reversed_bits,
    transform_real_lanes,
    twiddle_factors,
)
from codec_superb.metrics.p862.arithmetic.fast_fft import (
    cross,
    finish,
    first_quarter,
    first_quarter_of_columns,
    load_columns,
)
from codec_superb.metrics.p862.arithmetic.rows import LANES
from codec_superb.metrics.p862.arithmetic.vector import cross_row, keep_loudest, lanes_above, load_lanes
from codec_superb.metrics.p862.tables import OPTIONS

Signal = NDArray[np.float32]

_NEARLY = np.float32(0.99)
# on 90,000 frames two transforms differed by 6e-7 of both frames' norms at most (decision 4)
_DOUBT = np.float32(4e-6)
"""By how much two transforms may differ, relative to both frames' norms; ten times what was seen."""
_NOTHING = np.float32(1e-20)
"""A correlation below this consists of numbers that have lost their precision."""


NEAR = np.float32(1e-5)
"""Two sums of votes whose relative difference is below this may change place by rounding."""


class HalfLengthWorkspace(NamedTuple):
    """Tables and room of the quick transform, half as long as a frame."""

    twiddle_factors: tuple[Signal, Signal]
    """Cosines and sines of the blocks, in the order of the blocks."""
    twists: tuple[Signal, Signal]
    """Cosines and sines of the frame's lower bins."""
    places: NDArray[np.int64]
    room: NDArray[np.float32]
    """Six arrays of sixteen half frames: real and imaginary parts of both signals and of their product.

    They are a little longer, so that they do not all compete for the same places of the processor's cache.
    """
    columns: Signal
    starts: NDArray[np.int64]
    energies: Signal
    """Two rows: energies of the frames of both signals, and room."""
    limits: NDArray[np.float32]
    """Two rows: above the first a lag has a vote for sure, and below the second it has none."""


class Workspace(NamedTuple):
    """Tables and room for the correlation of sixteen frames at once."""

    length: int
    hop: int
    kernel: int
    """Half width of the triangle that smooths votes."""
    window: Signal
    twiddle_factors: TwiddleFactors
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
    halves: HalfLengthWorkspace
    plain: NDArray[np.bool_]
    """Of one number: whether to use the plain transform only."""
    doubts: NDArray[np.bool_]
    """Of one number: whether a decision was so near that it needs the plain transform."""


@per_thread
def workspace(length: int) -> Workspace:
    """Return the calling thread's workspace for frames of ``length`` samples."""
    return Workspace(
        length=length,
        hop=length // 4,
        kernel=length // 64,
        window=hann(length).astype(np.float32),
        twiddle_factors=twiddle_factors(length),
        places=reversed_bits(length),
        scale=np.full(1, 1 / length, np.float32),
        room=np.empty((6, LANES * length), np.float32),
        starts=np.empty(LANES, np.int64),
        limits=np.empty(LANES, np.float32),
        found=np.empty(LANES, np.int64),
        lags=np.empty((LANES, length), np.int64),
        halves=half_workspace(length),
        plain=np.zeros(1, np.bool_),
        doubts=np.zeros(1, np.bool_),
    )


@per_thread
def half_workspace(length: int) -> HalfLengthWorkspace:
    """Return the calling thread's workspace for the quick transform of frames of ``length`` samples."""
    half = length // 2
    blocks = np.pi * reversed_bits(half // 2) / (half // 2)
    bins = np.pi * np.arange(half // 2 + 1) / half
    return HalfLengthWorkspace(
        twiddle_factors=(np.cos(blocks).astype(np.float32), np.sin(blocks).astype(np.float32)),
        twists=(np.cos(bins).astype(np.float32), np.sin(bins).astype(np.float32)),
        places=reversed_bits(half),
        room=np.empty((6, LANES * (half + 5)), np.float32),
        columns=np.empty(2 * LANES * LANES, np.float32),
        starts=np.empty(LANES + 3, np.int64),
        energies=np.empty(2 * LANES, np.float32),
        limits=np.empty((2, LANES), np.float32),
    )


@compiled(**OPTIONS)
def correlate_frames(
    first: Signal, second: Signal, start: int, other: int, hop: int, count: int, window: Signal, at: Workspace
) -> None:
    """Correlate up to sixteen frames: of ``first`` from ``start`` and of ``second`` from ``other``, every ``hop``."""
    if not at.plain[0] and _quickly(first, second, start, other, hop, count, window, at):
        return
    room = at.room
    length, places = at.length, at.places
    for which, signal, begin in ((0, first, start), (2, second, other)):
        _set_starts(at.starts, begin, hop, count)
        for i in range(0, length, LANES):
            load_lanes(signal, at.starts, window, room[which], i)
        transform_real_lanes(room[which], room[which + 1], at.twiddle_factors.cosines, at.twiddle_factors.sines)
    for k in range(length // 2 + 1):
        mirror = (length - k) % length
        cross_row(room[0], room[1], room[2], room[3], room[4], room[5], places[k] * LANES, k * LANES, mirror * LANES)
    real_part_lanes(room[4], room[5], at.twiddle_factors.cosines, at.twiddle_factors.back)
    _collect(at, count)


@compiled(**OPTIONS)
def _set_starts(starts: NDArray[np.int64], begin: int, hop: int, count: int) -> None:
    for lane in range(LANES):
        starts[lane] = begin + min(lane, count - 1) * hop


@compiled(**OPTIONS)
def _note(at: Workspace, lanes: int, count: int, lag: int, backwards: bool) -> None:
    """Write down that the frames of these lanes have a vote for ``lag``."""
    lane = 0
    while lanes:
        if lanes & 1 and lane < count:
            frame = count - 1 - lane if backwards else lane
            at.lags[frame, at.found[frame]] = lag
            at.found[frame] += 1
        lanes >>= 1
        lane += 1


@compiled(**OPTIONS)
def _collect(at: Workspace, count: int) -> None:
    """List the lags of every frame that get a vote."""
    limits, correlation = at.limits, at.room[4]
    keep_loudest(correlation, at.scale, limits, at.length)
    for lane in range(LANES):
        limits[lane] *= _NEARLY
        at.found[lane] = 0
    for lag in range(at.length):
        _note(at, lanes_above(correlation, limits, at.places[lag] * LANES), count, lag, False)


@compiled(**OPTIONS)
def quick_spectra(
    signal: Signal, begin: int, count: int, window: Signal, re: Signal, im: Signal, halves: HalfLengthWorkspace
) -> None:
    """Spectra of the halves of ``count`` frames, each a quarter of a frame behind the last."""
    starts, columns = halves.starts, halves.columns
    half = len(halves.places)
    hop = half // 2
    for i in range(len(starts)):
        starts[i] = begin + min(i, count + 2) * hop
    for first in range(0, hop, LANES):
        load_columns(signal, starts, columns, first)
        for i in range(0, LANES, 2):
            place = (first + i) // 2 * LANES
            first_quarter_of_columns(columns, window, re, im, i * 2 * LANES, first + i, place, half // 4 * LANES)
    finish(re, im, half, halves.twiddle_factors[0], halves.twiddle_factors[1])


@compiled(**OPTIONS)
def _quickly(
    first: Signal, second: Signal, start: int, other: int, hop: int, count: int, window: Signal, at: Workspace
) -> bool:
    """Do what ``correlate_frames`` does if the lags found are beyond doubt; say whether they are."""
    halves = at.halves
    room, places, energies, twists = halves.room, halves.places, halves.energies, halves.twists
    half = len(places)
    back = (count - 1) * min(hop, 0)
    quick_spectra(first, start + back, count, window, room[0], room[1], halves)
    quick_spectra(second, other + back, count, window, room[2], room[3], halves)
    for i in range(2 * LANES):
        energies[i] = np.float32(0)
    for k in range(half // 2 + 1):
        mirror = (half - k) % half
        cross(
            room[0],
            room[1],
            room[2],
            room[3],
            room[4],
            room[5],
            twists[0],
            twists[1],
            energies,
            k,
            places[k] * LANES,
            places[mirror] * LANES,
            k * LANES,
            mirror * LANES,
        )
    # the inverse transform is the transform with real and imaginary parts exchanged
    for i in range(half // 4):
        first_quarter(room[5], room[4], i * LANES, half // 4 * LANES)
    finish(room[5], room[4], half, halves.twiddle_factors[0], halves.twiddle_factors[1])
    return _collect_quickly(at, count, hop < 0)


@compiled(**OPTIONS)
def _collect_quickly(at: Workspace, count: int, backwards: bool) -> bool:
    """List the lags of every frame that get a vote, if there is no doubt about them."""
    halves = at.halves
    half = len(halves.places)
    even, odd, energies = halves.room[4], halves.room[5], halves.energies
    sure, doubtful = halves.limits[0], halves.limits[1]
    keep_loudest(even, at.scale, sure, half)
    keep_loudest(odd, at.scale, doubtful, half)
    # as much too great as ``cross`` says, and spectra are summed over half as many bins as the scale is made for
    scale = np.float32(1 / 4)
    for lane in range(LANES):
        loudest = max(sure[lane], doubtful[lane])
        norms = np.float32(math.sqrt(energies[lane])) * np.float32(math.sqrt(energies[LANES + lane])) / np.float32(half)
        if lane < count and loudest < _NOTHING and (norms > 0 or loudest > 0):
            return False
        doubt = _DOUBT * norms / scale
        limit = loudest * _NEARLY if lane < count else np.float32(math.inf)
        sure[lane], doubtful[lane] = limit + doubt, limit - doubt
        if lane < count:
            at.limits[count - 1 - lane if backwards else lane] = limit * scale
        at.found[lane] = 0
    for i in range(half):
        place = halves.places[i] * LANES
        lanes, others = lanes_above(even, sure, place), lanes_above(odd, sure, place)
        if lanes != lanes_above(even, doubtful, place) or others != lanes_above(odd, doubtful, place):
            return False
        if lanes:
            _note(at, lanes, count, 2 * i, backwards)
        if others:
            _note(at, others, count, 2 * i + 1, backwards)
    return True
