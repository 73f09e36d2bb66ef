"""Spectra of eight frames side by side in double precision, by the quick transform."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled
from codec_superb.metrics.p862.arithmetic.exact_fft import per_thread, reversed_bits
from codec_superb.metrics.p862.arithmetic.fast_fft import apart, finish, first_quarter, squares
from codec_superb.metrics.p862.arithmetic.rows import WIDE_LANES, Rows, ir, operation, transposed

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]


class Workspace(NamedTuple):
    """Tables and room for the spectra of eight frames; see :func:`spectra`."""

    half: int
    """Rows of a transform: half its length."""
    twiddle_factors: tuple[Reals, Reals]
    """Cosines and sines of the blocks, in the order of the blocks; good for any shorter length too."""
    twists: tuple[Reals, Reals]
    """Cosines and sines of the bins."""
    places: Integers
    """Where the transform leaves bin k of the halves."""
    room: Reals
    """Real and imaginary parts."""
    starts: Integers
    """First sample of each frame."""
    means: Reals
    """What each frame is looked at without."""


@per_thread
def workspace(length: int) -> Workspace:
    """Return the calling thread's workspace for transforms of ``length`` samples, a power of two from 64 on."""
    half = length // 2
    blocks = np.pi * reversed_bits(half // 2) / (half // 2)
    bins = np.pi * np.arange(half + 1) / half
    return Workspace(
        half=half,
        twiddle_factors=(np.cos(blocks), np.sin(blocks)),
        twists=(np.cos(bins), np.sin(bins)),
        places=reversed_bits(half),
        # a little longer, so that the parts do not compete for the same places of the processor's cache
        room=np.empty((2, WIDE_LANES * (half + 5))),
        starts=np.zeros(WIDE_LANES, np.int64),
        means=np.zeros(WIDE_LANES),
    )


@compiled(error_model="numpy")
def spectra(samples: Reals, taper: Reals, at: Workspace) -> None:
    """Leave in ``at.room`` the spectra of the halves of the frames at ``at.starts``, less ``at.means``, windowed.

    ``taper`` has a multiple of eight samples, no more than the transform; ``samples`` has as many of every frame.
    """
    re, im = at.room[0], at.room[1]
    for k in range(0, taper.size, WIDE_LANES):
        load_frames(samples, at.starts, at.means, taper, re, im, k)
    re[taper.size // 2 * WIDE_LANES : at.half * WIDE_LANES] = 0.0
    im[taper.size // 2 * WIDE_LANES : at.half * WIDE_LANES] = 0.0
    transform(re, im, at.half, at.twiddle_factors)


@compiled(error_model="numpy")
def transform(re: Reals, im: Reals, half: int, twiddle_factors: tuple[Reals, Reals]) -> None:
    """Transform ``half`` rows; bins end in reversed-bit order."""
    for i in range(half // 4):
        first_quarter(re, im, i * WIDE_LANES, half // 4 * WIDE_LANES)
    finish(re, im, half, twiddle_factors[0], twiddle_factors[1])


@operation(arrays=6, integers=1)
def load_frames(rows: Rows) -> None:
    """Load, of ``(samples, starts, means, taper, re, im, at)``, eight samples of each frame, less its mean, tapered.

    Frame i begins at ``starts[i]``. Even samples become real parts, odd ones imaginary parts.
    """
    samples, starts, means, taper, re, im, at = rows.values
    builder, integer = rows.builder, at.type
    block = []
    for lane in range(WIDE_LANES):
        start = builder.load(builder.gep(starts, [ir.Constant(integer, lane)]))
        block.append(rows.load(samples, builder.add(start, at)))
    mean = rows.load(means, ir.Constant(integer, 0))
    # sample ``at`` is row at / 2, which begins eight times as far
    first = builder.mul(at, ir.Constant(integer, WIDE_LANES // 2))
    for i, row in enumerate(transposed(builder, block)):
        place = builder.add(first, ir.Constant(integer, i // 2 * WIDE_LANES))
        rows.store(builder.fmul(builder.fsub(row, mean), rows.scalar(taper, at, i)), im if i % 2 else re, place)


@operation(arrays=5, integers=4)
def add_bin(rows: Rows) -> None:
    """``(re, im, cosines, sines, sums, bin, at, mirror_at, to)``: add the power of a bin, four times too great."""
    re, im, cosines, sines, sums, number, at, mirror_at, to = rows.values
    turn = rows.scalar(cosines, number), rows.scalar(sines, number)
    z, mirror = ((rows.load(re, place), rows.load(im, place)) for place in (at, mirror_at))
    power = squares(rows.builder, apart(rows.builder, z, mirror, turn)[0])
    rows.store(rows.builder.fadd(rows.load(sums, to), power), sums, to)
