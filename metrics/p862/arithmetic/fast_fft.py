"""A transform that may round otherwise than the standard's programme, and costs half as much: row operations, stages.

Products and sums may fuse ("contract"). A transform of real samples is one of half as many complex numbers: even
samples are real parts, odd ones imaginary parts, and ``cross`` takes the spectra of the halves apart. Stages take rows
of float32 and of float64 alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled
from codec_superb.metrics.p862.arithmetic.rows import (
    LANES,
    ROW,
    Rows,
    cgutils,
    four_places,
    ir,
    operation,
    transposed,
)
from codec_superb.metrics.p862.tables import OPTIONS

_FUSED = ("contract",)
_ROW_BYTES = 64
_IN_CACHE = 128
"""Rows of both parts that the nearest cache holds."""
Complex = tuple[Any, Any]
Numbers = NDArray[np.float32] | NDArray[np.float64]


@operation(arrays=3, integers=1)
def load_columns(rows: Rows) -> None:
    """``(signal, starts, to, at)``: sixteen samples from each of ``starts[...] + at``, as sixteen rows of 32 numbers.

    There are nineteen starts. Row i holds sample i from every one of them, in the same order.
    """
    signal, starts, to, at = rows.values
    builder, integer = rows.builder, at.type
    for part, count in enumerate((LANES, 3)):
        block = []
        for i in range(LANES):
            if i < count:
                start = builder.load(builder.gep(starts, [ir.Constant(integer, part * LANES + i)]))
                block.append(rows.load(signal, builder.add(start, at)))
            else:
                block.append(ir.Constant(ROW, ir.Undefined))
        for i, row in enumerate(transposed(builder, block)):
            rows.store(row, to, ir.Constant(integer, 2 * LANES * i + LANES * part))


@operation(arrays=4, integers=4)
def first_quarter_of_columns(rows: Rows) -> None:
    """``(columns, window, re, im, from, at, start, step)``: window and do the first two stages, which need no product.

    ``columns`` is what ``load_columns`` gives for starts a quarter of a frame apart. Its row ``from`` (as offset) is
    sample ``at`` of the frames, the next one becomes their imaginary part; the outcome goes to ``start`` and every
    ``step`` from there.
    """
    columns, window, re, im, source, at, start, step = rows.values
    builder, integer = rows.builder, at.type
    quarter = builder.udiv(builder.mul(step, ir.Constant(integer, 2)), ir.Constant(integer, LANES))
    parts = []
    for i, place in enumerate(four_places(rows, at, quarter)):
        parts.append(
            tuple(
                builder.fmul(
                    rows.load(columns, builder.add(source, ir.Constant(integer, 2 * LANES * part + i))),
                    rows.scalar(window, place, part),
                )
                for part in (0, 1)
            )
        )
    _store(rows, re, im, four_places(rows, start, step), _first_half(builder, *parts))


@operation(arrays=2, integers=2)
def first_quarter(rows: Rows) -> None:
    """``(re, im, start, step)``: the first two stages on sixteen quadruples, which need no product."""
    re, im, start, step = rows.values
    places = four_places(rows, start, step)
    parts = [(rows.load(re, place), rows.load(im, place)) for place in places]
    _store(rows, re, im, places, _first_half(rows.builder, *parts))


@operation(arrays=4, integers=3)
def fused_quarter(rows: Rows) -> None:
    """``(re, im, cosines, sines, start, step, block)``: two stages on sixteen quadruples."""
    re, im, cosines, sines, start, step, block = rows.values
    builder = rows.builder
    places = four_places(rows, start, step)
    a, b, c, d = ((rows.load(re, place), rows.load(im, place)) for place in places)
    twice = builder.shl(block, ir.Constant(block.type, 1))
    turn = rows.scalar(cosines, block), rows.scalar(sines, block)
    c, d = _turned(builder, c, turn), _turned(builder, d, turn)
    a, c = _plus(builder, a, c), _minus(builder, a, c)
    b, d = _plus(builder, b, d), _minus(builder, b, d)
    turn = rows.scalar(cosines, twice), rows.scalar(sines, twice)
    _store(rows, re, im, places, _last_half(builder, a, _turned(builder, b, turn), c, _turned(builder, d, turn)))


@operation(arrays=4, integers=3)
def fused_half(rows: Rows) -> None:
    """``(re, im, cosines, sines, start, step, block)``: one stage on sixteen pairs."""
    re, im, cosines, sines, start, step, block = rows.values
    builder = rows.builder
    places = [start, builder.add(start, step)]
    a, b = ((rows.load(re, place), rows.load(im, place)) for place in places)
    b = _turned(builder, b, (rows.scalar(cosines, block), rows.scalar(sines, block)))
    _store(rows, re, im, places, [_plus(builder, a, b), _minus(builder, a, b)])


@compiled(**OPTIONS)
def finish(re: Numbers, im: Numbers, half: int, cosines: Numbers, sines: Numbers) -> None:
    """Do all but the first two stages of a transform of ``half`` rows; bins end in reversed-bit order."""
    lanes = _ROW_BYTES // re.itemsize
    part = half // 4
    while part > _IN_CACHE:
        for start in range(0, half, part):
            for i in range(start, start + part // 4):
                fused_quarter(re, im, cosines, sines, i * lanes, part // 4 * lanes, start // part)
        part //= 4
    # a part at a time, to its end, so that it stays in the nearest cache
    for first in range(0, half, part):
        size = part
        while size > 2:  # noqa: PLR2004 - two stages
            step = size // 4
            for start in range(first, first + part, size):
                for i in range(start, start + step):
                    fused_quarter(re, im, cosines, sines, i * lanes, step * lanes, start // size)
            size = step
        if size == 2:  # noqa: PLR2004 - one stage
            for start in range(first, first + part, size):
                fused_half(re, im, cosines, sines, start * lanes, lanes, start // 2)


@operation(arrays=9, integers=5)
def cross(rows: Rows) -> None:
    """Multiply the conjugate of one real signal's spectrum by another's, from and to the spectra of their halves.

    ``(re, im, re2, im2, to_re, to_im, cosines, sines, energies, bin, at, mirror_at, to, mirror_to)``: bins ``bin`` and
    length - ``bin`` stand at ``at`` and ``mirror_at``, their products go to ``to`` and ``mirror_to``, eight times too
    great. The squares of what is read are added to the two rows ``energies``.
    """
    re, im, re2, im2, to_re, to_im, cosines, sines, energies, number, at, mirror_at, to, mirror_to = rows.values
    builder = rows.builder
    turn = rows.scalar(cosines, number), rows.scalar(sines, number)
    bins = []
    for i, (x, y) in enumerate(((re, im), (re2, im2))):
        z, mirror = (rows.load(x, at), rows.load(y, at)), (rows.load(x, mirror_at), rows.load(y, mirror_at))
        place = ir.Constant(number.type, i * LANES)
        powers = [squares(builder, value) for value in (z, mirror)]
        total = builder.fadd(rows.load(energies, place), builder.fadd(*powers))
        rows.store(total, energies, place)
        bins.append(apart(builder, z, mirror, turn))
    low, high = (_product(builder, *pair) for pair in zip(*bins, strict=True))
    even = builder.fadd(low[0], high[0]), builder.fsub(low[1], high[1])
    odd = _turned(
        builder,
        (builder.fsub(low[0], high[0]), builder.fadd(low[1], high[1])),
        (turn[0], builder.fneg(turn[1])),
    )
    rows.store(builder.fsub(even[0], odd[1]), to_re, to)
    rows.store(builder.fadd(even[1], odd[0]), to_im, to)
    rows.store(builder.fadd(even[0], odd[1]), to_re, mirror_to)
    rows.store(builder.fsub(odd[0], even[1]), to_im, mirror_to)


@operation(arrays=5, integers=5)
def magnitude(rows: Rows) -> None:
    """``(re, im, cosines, sines, to, bin, at, mirror_at, start, mirror_start)``: magnitudes from the halves' spectrum.

    Bins ``bin`` and length - ``bin`` stand at ``at`` and ``mirror_at``; their magnitudes go to ``start`` and
    ``mirror_start``.
    """
    re, im, cosines, sines, to, number, at, mirror_at, start, mirror_start = rows.values
    builder = rows.builder
    turn = rows.scalar(cosines, number), rows.scalar(sines, number)
    z, mirror = ((rows.load(re, place), rows.load(im, place)) for place in (at, mirror_at))
    both = apart(builder, z, mirror, turn)
    kind = ir.FunctionType(ROW, [ROW])
    root = cgutils.get_or_insert_function(builder.module, kind, f"llvm.sqrt.v{LANES}f32")
    for value, place in zip(both, (start, mirror_start), strict=True):
        twice = builder.call(root, [squares(builder, value)])
        rows.store(builder.fmul(twice, ir.Constant(ROW, [0.5] * LANES)), to, place)


@operation(arrays=3, integers=4)
def weighted_sum(rows: Rows) -> None:
    """``(values, weights, to, at, first, count, start)``: sum ``count`` rows from ``at`` by weights from ``first``."""
    values, weights, to, at, first, count, start = rows.values
    builder = rows.builder
    kept = cgutils.alloca_once_value(builder, ir.Constant(ROW, [0.0] * LANES))
    with cgutils.for_range(builder, count) as loop:
        row = rows.load(values, builder.add(at, builder.mul(loop.index, ir.Constant(at.type, LANES))))
        weight = rows.scalar(weights, builder.add(first, loop.index))
        builder.store(fused_add(builder, weight, row, builder.load(kept)), kept)
    rows.store(builder.load(kept), to, start)


def apart(builder: Any, z: Complex, mirror: Complex, turn: Complex) -> tuple[Complex, Complex]:
    """Take two bins of a real signal, twice too great, from those of its halves' spectrum."""
    even = builder.fadd(z[0], mirror[0]), builder.fsub(z[1], mirror[1])
    odd = builder.fadd(z[1], mirror[1]), builder.fsub(mirror[0], z[0])
    odd = _turned(builder, odd, turn)
    upper = _minus(builder, even, odd)
    return _plus(builder, even, odd), (upper[0], builder.fneg(upper[1]))


def fused_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """Return ``a * b + c``, with one rounding where the processor can."""
    return builder.fadd(builder.fmul(a, b, flags=_FUSED), c, flags=_FUSED)


def squares(builder: Any, a: Complex) -> Any:
    """Return the squared magnitude."""
    return fused_add(builder, a[0], a[0], builder.fmul(a[1], a[1], flags=_FUSED))


def _plus(builder: Any, a: Complex, b: Complex) -> Complex:
    return builder.fadd(a[0], b[0]), builder.fadd(a[1], b[1])


def _minus(builder: Any, a: Complex, b: Complex) -> Complex:
    return builder.fsub(a[0], b[0]), builder.fsub(a[1], b[1])


def _turned(builder: Any, value: Complex, turn: Complex) -> Complex:
    """``value`` times cosine - i sine."""
    cosine, sine = turn
    real = fused_add(builder, cosine, value[0], builder.fmul(sine, value[1], flags=_FUSED))
    product = builder.fmul(sine, value[0], flags=_FUSED)
    return real, builder.fsub(builder.fmul(cosine, value[1], flags=_FUSED), product, flags=_FUSED)


def _product(builder: Any, a: Complex, b: Complex) -> Complex:
    """Conjugate of ``a`` times ``b``."""
    return _turned(builder, b, a)


def _first_half(builder: Any, a: Complex, b: Complex, c: Complex, d: Complex) -> list[Complex]:
    a, c = _plus(builder, a, c), _minus(builder, a, c)
    b, d = _plus(builder, b, d), _minus(builder, b, d)
    return _last_half(builder, a, b, c, d)


def _last_half(builder: Any, a: Complex, b: Complex, c: Complex, d: Complex) -> list[Complex]:
    """Give sums and differences of a and b, and of c and -i d."""
    turned = d[1], builder.fneg(d[0])
    return [_plus(builder, a, b), _minus(builder, a, b), _plus(builder, c, turned), _minus(builder, c, turned)]


def _store(rows: Rows, re: Any, im: Any, places: list[Any], values: list[Complex]) -> None:
    for place, value in zip(places, values, strict=True):
        rows.store(value[0], re, place)
        rows.store(value[1], im, place)
