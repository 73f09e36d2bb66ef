"""Coarse delays of the parts of an utterance that is tried to be cut at many places.

The parts before the cuts are stretches of which each holds the last one, and so are, from the other side, those behind
them. Hence the correlation of one part is that of the last one and a few rows more, which is far cheaper than a
transform of each. It rounds otherwise: where the two best shifts are too near to each other for that, or the
correlation is needed itself (see ``splitting``), the transform decides.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled
from codec_superb.metrics.p862.alignment.delays import best_shift, greatest, overlap, room_length, shifts_spilt
from codec_superb.metrics.p862.arithmetic.exact_fft import TwiddleFactors
from codec_superb.metrics.p862.tables import OPTIONS

Signal = NDArray[np.float32]

_UNSURE = -(1 << 30)
# sums that grow row by row round otherwise than a transform: nearer shifts than this are transformed (decision 4)
_DOUBT = np.float32(2e-5)
"""By how much two ways to correlate may differ, relative to both signals' norms."""


@compiled(**OPTIONS, fastmath={"contract", "reassoc"})
def _norm(signal: Signal) -> np.float32:
    total = np.float32(0)
    for i in range(len(signal)):
        total += signal[i] * signal[i]
    return np.float32(math.sqrt(total))


@compiled(**OPTIONS, fastmath={"contract"})
def _add_row(sums: Signal, begin: int, signal: Signal, start: int, count: int, factor: np.float32) -> None:
    """Add ``count`` samples from ``start``, times ``factor``, to the sums from ``begin`` on."""
    to, source = np.uintp(begin), np.uintp(start)  # an index with a sign is checked, number by number
    for i in range(np.uintp(count)):
        sums[to + i] += factor * signal[source + i]


@compiled(**OPTIONS)
def _place_above(values: Signal, limit: np.float32) -> int:
    """Place of the only value above ``limit``; ``_UNSURE`` where there are several."""
    count, place = 0, 0
    for i in range(len(values)):
        if values[i] > limit:
            count += 1
            place += i
    return place if count == 1 else _UNSURE


@compiled(**OPTIONS)
def _grow(
    sums: Signal, first: Signal, mirrored: Signal, second: Signal, had: NDArray[np.int64], want: NDArray[np.int64]
) -> None:
    """Add to ``sums`` what the samples of ``want`` add to those of ``had``: bounds in both signals, two by two.

    The sum for shift s stands at ``s + len(first)``; ``mirrored`` is the first signal backwards.
    """
    length = len(first)
    for t in range(want[0], want[1]):
        if (t < had[0] or t >= had[1]) and first[t] != np.float32(0):
            _add_row(sums, want[2] - t + length, second, want[2], want[3] - want[2], first[t])
    for u in range(want[2], want[3]):
        if (u < had[2] or u >= had[3]) and second[u] != np.float32(0) and had[1] > had[0]:
            # backwards: the shift falls as the place in the first signal grows
            _add_row(sums, u - had[1] + 1 + length, mirrored, length - had[1], had[1] - had[0], second[u])
    had[:] = want


@compiled(**OPTIONS)
def _sure_shift(sums: Signal, first: Signal, second: Signal, origin: int) -> int:
    """Shift with the greatest sum among those of two stretches, or ``_UNSURE``; shift 0 has its sum at ``origin``."""
    norms = _norm(first) * _norm(second)
    if norms == np.float32(0):
        return 0
    low = origin - len(first) + 1
    possible = sums[low : origin + len(second)]
    best = greatest(possible)
    if best <= _DOUBT * norms:
        return _UNSURE
    place = _place_above(possible, best - _DOUBT * norms)
    return _UNSURE if place == _UNSURE else place + low - origin


@compiled(**OPTIONS)
def _part(
    side: int, cut: int, bounds: tuple[int, int], estimate: int, window: int, lengths: tuple[int, int]
) -> tuple[int, int, int, int]:
    """Where the part before (``side`` 0) or behind (1) a cut lies, as ``overlap`` tells it."""
    start, stop = (cut, bounds[1]) if side else (bounds[0], cut)
    return overlap(start, stop, estimate, window, lengths[0], lengths[1])


@compiled(**OPTIONS)
def _grown_shifts(
    first: Signal,
    second: Signal,
    bounds: tuple[int, int],
    cuts: NDArray[np.int64],
    estimate: int,
    window: int,
    room: int,
    side: int,
) -> NDArray[np.int64]:
    """Shifts in windows of all parts of one side, 0 where there is nothing to shift, ``_UNSURE`` where it is unsure.

    A part that would spill into ``room`` numbers is unsure too.
    """
    lengths = len(first), len(second)
    shifts = np.zeros(len(cuts), np.int64)
    sums, mirrored = np.zeros(lengths[0] + lengths[1], np.float32), first[::-1].copy()
    had, want = np.zeros(4, np.int64), np.empty(4, np.int64)
    for step in range(len(cuts)):
        i = len(cuts) - 1 - step if side else step
        start, count, other, others = _part(side, cuts[i], bounds, estimate, window, lengths)
        if count <= 1 or others <= 1:
            continue
        if shifts_spilt(count + others, room) > 0:
            shifts[i] = _UNSURE
            continue
        want[0], want[1], want[2], want[3] = start, start + count, other, other + others
        if had[1] == had[0]:
            had[0], had[1], had[2], had[3] = start, start, other, other
        _grow(sums, first, mirrored, second, had, want)
        ours, theirs = first[start : start + count], second[other : other + others]
        shifts[i] = _sure_shift(sums, ours, theirs, lengths[0] + other - start)
    return shifts


@compiled(**OPTIONS)
def coarse_delays_of_parts(
    first: Signal,
    second: Signal,
    bounds: tuple[int, int],
    cuts: NDArray[np.int64],
    estimate: int,
    window: int,
    table: TwiddleFactors,
    spill: Signal,
) -> NDArray[np.int64]:
    """Delays before and behind every cut, of shape (2, cuts), in samples: multiples of ``window`` around ``estimate``.

    ``bounds`` and ``cuts`` are windows of the logarithmic activities ``first`` and ``second``. ``spill`` takes what
    ``best_shift`` spills, one part after the other: before the first cut, behind it, before the second, and so on.
    """
    lengths = len(first), len(second)
    shifts = np.empty((2, len(cuts)), np.int64)
    for side in range(2):
        shifts[side] = _grown_shifts(first, second, bounds, cuts, estimate, window, len(spill), side)
    if (shifts == _UNSURE).any():
        room = np.empty((6, room_length(lengths[0], lengths[1])), np.float32)
        for i in range(len(cuts)):
            for side in range(2):
                if shifts[side, i] == _UNSURE:
                    start, count, other, others = _part(side, cuts[i], bounds, estimate, window, lengths)
                    ours, theirs = first[start : start + count], second[other : other + others]
                    shifts[side, i] = best_shift(ours, theirs, table, spill, room)
    return estimate + window * shifts
