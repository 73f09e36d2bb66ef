"""Fourier transforms that round exactly like the plain float32 transform of the standard's programme.

Some decisions of the standard are ties that only rounding decides: a delay that occurs twice gives two equal peaks,
and the wide-band filter answers a change of the level in its last bit with different noise. So the transforms before
such a decision do the same products and sums in the same order as a plain transform by halves: every stage adds and
subtracts pairs half a block apart, all pairs of a block turned by the same float32 sine and cosine. Only the pairs
are worked on sixteen at a time, and two stages per pass through memory, which changes no result.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled
from codec_superb.metrics.p862.arithmetic.rows import LANES
from codec_superb.metrics.p862.arithmetic.vector import (
    butterfly_stage,
    last_stages,
    quarter_last_real,
    quarter_real,
    reverse_low_tile,
    reverse_tile,
    two_butterfly_stages,
)
from codec_superb.metrics.p862.tables import OPTIONS

Signal = NDArray[np.float32]
T = TypeVar("T")
_LARGEST_KEPT = 1 << 20
"""Samples, 16 MB: a minute at 16 kHz."""
_IN_CACHE = 4096
_IN_SECOND_CACHE = 1 << 16
"""Samples of a block that is finished before the next one is begun, at two levels of memory."""


class TwiddleFactors(NamedTuple):
    """Turns of the blocks, in the order of the blocks, and the order of bins; good for any shorter length too."""

    cosines: Signal
    sines: Signal
    back: Signal
    """Sines of the inverse transform."""


def per_thread(make: Callable[[int], T]) -> Callable[[int], T]:
    """Keep what ``make`` gives for a number, for every thread apart: room to work in is never shared."""
    kept = threading.local()

    @wraps(make)
    def own(number: int) -> T:
        rooms: dict[int, T] = kept.__dict__.setdefault("rooms", {})
        if number not in rooms:
            rooms[number] = make(number)
        return rooms[number]

    return own


def reversed_bits(length: int) -> NDArray[np.int64]:
    """Where the transform of ``length`` leaves bin k: the bits of k in opposite order."""
    places = np.zeros(1, np.int64)
    while len(places) < length:
        places = np.concatenate([2 * places, 2 * places + 1])
    return places


@lru_cache(maxsize=8)
def _turns(length: int) -> TwiddleFactors:
    order = reversed_bits(length // 2).astype(np.float32)
    angles = (np.float32(2 * np.pi) * order / np.float32(length)).astype(np.float64)
    cosines, sines = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    return TwiddleFactors(cosines, sines, -sines)


def twiddle_factors(length: int) -> TwiddleFactors:
    """Return turns for transforms of up to ``length`` samples (a power of two)."""
    return _turns(max(length, 1 << 16))


def next_power_of_two(samples: int) -> int:
    """Return the shortest power of two that holds ``samples``."""
    return max(4 * LANES, 1 << (samples - 1).bit_length())


@compiled(**OPTIONS)
def _passes(re: Signal, im: Signal, cosines: Signal, sines: Signal, first: int, length: int, least: int) -> int:
    """Two stages at a time until blocks are no longer than ``least``; how long they are."""
    size = length
    while size > least:
        step = size // 4
        for start in range(first, first + length, size):
            for i in range(start, start + step, LANES):
                two_butterfly_stages(re, im, cosines, sines, i, step, start // size)
        size = step
    return size


@compiled(**OPTIONS)
def _after_first(re: Signal, im: Signal, cosines: Signal, sines: Signal) -> None:
    """Do all stages but the first two."""
    length = len(re)
    outer = _passes(re, im, cosines, sines, 0, length // 4, _IN_SECOND_CACHE)
    for quarter_start in range(length // 4, length, length // 4):
        _passes(re, im, cosines, sines, quarter_start, length // 4, _IN_SECOND_CACHE)
    for begin in range(0, length, outer):
        inner = _passes(re, im, cosines, sines, begin, outer, _IN_CACHE)
        for first in range(begin, begin + inner * (outer // inner), inner):
            least = _passes(re, im, cosines, sines, first, inner, 2 * LANES)
            if least == 2 * LANES:
                for start in range(first, first + inner, least):
                    butterfly_stage(re, im, cosines, sines, start, LANES, start // least)
            for start in range(first, first + inner, LANES):
                last_stages(re, im, cosines, sines, start, start // LANES)


@compiled(**OPTIONS)
def transform(re: Signal, im: Signal, cosines: Signal, sines: Signal) -> None:
    """Transform a complex signal in place: 64 samples or more, a power of two; bins end in reversed-bit order."""
    step = len(re) // 4
    for i in range(0, step, LANES):
        two_butterfly_stages(re, im, cosines, sines, i, step, 0)
    _after_first(re, im, cosines, sines)


@compiled(**OPTIONS)
def transform_real(re: Signal, im: Signal, cosines: Signal, sines: Signal) -> None:
    """``transform`` of a real signal; ``im`` is only written to."""
    step = len(re) // 4
    for i in range(0, step, LANES):
        quarter_real(re, im, cosines, sines, i, step)
    _after_first(re, im, cosines, sines)


@compiled(**OPTIONS)
def _finish_lanes(re: Signal, im: Signal, cosines: Signal, sines: Signal, first: int, length: int, real: bool) -> None:
    size = length
    while size > 4:  # noqa: PLR2004 - two stages
        step = size // 4
        for start in range(first, first + length, size):
            for i in range(start, start + step):
                two_butterfly_stages(re, im, cosines, sines, i * LANES, step * LANES, start // size)
        size = step
    for start in range(first, first + length, size):
        if size == 2:  # noqa: PLR2004 - one stage
            butterfly_stage(re, im, cosines, sines, start * LANES, LANES, start // 2)
        elif real:
            quarter_last_real(re, im, cosines, sines, start * LANES, start // 4)
        else:
            two_butterfly_stages(re, im, cosines, sines, start * LANES, LANES, start // 4)


@compiled(**OPTIONS)
def transform_real_lanes(re: Signal, im: Signal, cosines: Signal, sines: Signal) -> None:
    """``transform`` of sixteen real signals of 64 samples or more: sample i of a lane at ``16 * i + lane``.

    ``im`` is only written to.
    """
    length = len(re) // LANES
    step = length // 4
    for i in range(step):
        quarter_real(re, im, cosines, sines, i * LANES, step * LANES)
    # a quarter at a time, to its end, so that it stays in the nearest cache
    for first in range(0, length, step):
        _finish_lanes(re, im, cosines, sines, first, step, False)


@compiled(**OPTIONS)
def real_part_lanes(re: Signal, im: Signal, cosines: Signal, sines: Signal) -> None:
    """``transform`` of sixteen complex signals of which only the real part is wanted; ``im`` is spoilt."""
    length = len(re) // LANES
    step = length // 4
    for i in range(step):
        two_butterfly_stages(re, im, cosines, sines, i * LANES, step * LANES, 0)
    for first in range(0, length, step):
        _finish_lanes(re, im, cosines, sines, first, step, True)


@compiled(**OPTIONS)
def reorder(source: Signal, target: Signal, wanted: int) -> None:
    """Bring what ``transform`` left in reversed-bit order into natural order, at least the first ``wanted``."""
    length = len(source)
    tiles = length // (LANES * LANES)
    bit, other = max(tiles, 1) // 2, 0
    for tile in range(tiles):
        if wanted <= length // 4:
            reverse_low_tile(source, target, other * LANES, tile * LANES, length // LANES)
        else:
            reverse_tile(source, target, other * LANES, tile * LANES, length // LANES)
        # the next tile's number, its bits reversed
        carry = bit
        while carry and other & carry:
            other ^= carry
            carry >>= 1
        other |= carry
    if tiles == 0:
        place, half = 0, length // 2
        for i in range(length):
            target[i] = source[place]
            carry = half
            while carry and place & carry:
                place ^= carry
                carry >>= 1
            place |= carry


@compiled(**OPTIONS)
def _spectrum(
    signal: Signal, re: Signal, im: Signal, to_re: Signal, to_im: Signal, wanted: int, table: TwiddleFactors
) -> None:
    """Transform a real signal, filled with zeros, to ``wanted`` bins; ``re`` and ``im`` are spoilt."""
    re[: len(signal)] = signal
    re[len(signal) :] = np.float32(0)
    transform_real(re, im, table.cosines, table.sines)
    reorder(re, to_re, wanted)
    reorder(im, to_im, wanted)


@compiled(**OPTIONS)
def correlation(first: Signal, second: Signal, sign: float, table: TwiddleFactors, room: Signal) -> Signal:
    """Multiply the spectra of two real signals and transform back; times the length, a part of ``room``.

    ``sign`` 1 convolves, -1 correlates. ``room`` of shape (6, length) gives the length: 64 or more, a power of two.
    Both signals are filled with zeros.
    """
    size = room.shape[1]
    turned = np.float32(sign)
    re, im = room[4], room[5]
    _spectrum(first, re, im, room[0], room[1], size, table)
    _spectrum(second, re, im, room[2], room[3], size, table)
    for k in range(size // 2 + 1):
        r1, i1, r2, i2 = room[0, k], turned * room[1, k], room[2, k], room[3, k]
        re[k], im[k] = r1 * r2 - i1 * i2, r1 * i2 + i1 * r2
    _mirror(re, im, size // 2)
    transform(re, im, table.cosines, table.back)
    outcome: Signal = room[0]
    reorder(re, outcome, size)
    return outcome


@compiled(**OPTIONS)
def _mirror(re: Signal, im: Signal, count: int) -> None:
    """Give the upper half the conjugates of bins 1 to ``count - 1``."""
    for k in range(1, count):
        re[len(re) - k], im[len(re) - k] = re[k], -im[k]


@per_thread
def _kept_room(size: int) -> Signal:
    return np.empty((4, size), np.float32)


def filter_room(size: int) -> Signal:
    """Return room for ``filtered``: the calling thread's own, or new room where that would be too much to keep."""
    return _kept_room(size) if size <= _LARGEST_KEPT else np.empty((4, size), np.float32)


@compiled(**OPTIONS)
def filtered(signal: Signal, weights: Signal, table: TwiddleFactors, room: Signal) -> Signal:
    """``signal`` with every bin times its weight, times the length of the transform; a part of ``room``.

    ``weights`` are those of the lowest bins; the bins above are taken out.
    """
    re, im, to_re, to_im = room[0], room[1], room[2], room[3]
    size, count = len(re), len(weights)
    _spectrum(signal, re, im, to_re, to_im, count, table)
    for k in range(count):
        to_re[k] *= weights[k]
        to_im[k] *= weights[k]
    to_re[count : max(size - count + 1, count)] = np.float32(0)
    to_im[count : max(size - count + 1, count)] = np.float32(0)
    _mirror(to_re, to_im, min(count, size // 2))
    transform(to_re, to_im, table.cosines, table.back)
    outcome: Signal = re
    reorder(to_re, outcome, len(signal))
    return outcome
