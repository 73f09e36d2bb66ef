"""Sixteen float32 numbers at a time: the vector operations that the compiler does not find by itself.

A transform here works on sixteen independent signals side by side. Sample ``i`` of signal ``lane`` stands at
``16 * i + lane``, so every step of the transform is the same operation on sixteen neighbours and needs no shuffle.
In-place loops over such rows are out of reach of the automatic vectoriser, which cannot prove that two rows of one
array do not overlap; therefore the few row operations are written as LLVM vectors. LLVM splits them into whatever
the processor has.

Every product and every sum rounds by itself, in the order of a plain float32 programme: nothing here is allowed to
fuse or to reorder.
"""

from __future__ import annotations

from typing import Any

from numba import types

from codec_superb.metrics.p862.arithmetic.rows import (
    FLOAT,
    LANES,
    MASK,
    ROW,
    WIDE_ROW,
    Rows,
    cgutils,
    four_places,
    intrinsic,
    ir,
    operation,
    transposed,
)


@operation(arrays=3, integers=1)
def cascade(rows: Rows) -> None:
    """``(first, second, sections, length)``: both signals through sixteen second-order sections, in place.

    ``sections`` holds b0, b1, b2, a1, a2 as rows: lane s is section s. Section s works two samples behind section
    s - 1, so that all sixteen advance in one step and none waits for another. Products and sums round one by one.
    Both signals have 30 samples or more.
    """
    first, second, sections, length = rows.values
    builder, integer = rows.builder, rows.values[3].type
    weights = [rows.load(sections, ir.Constant(integer, LANES * i)) for i in range(5)]
    behind = ir.Constant(integer, 2 * (LANES - 1))
    kept = [[cgutils.alloca_once_value(builder, ir.Constant(ROW, [0.0] * LANES)) for _ in range(4)] for _ in range(2)]
    silence = ir.Constant(FLOAT, 0.0)
    # the last lane is behind at first; at the end there are no samples left for the first
    for begin, end, reads, writes in (
        (ir.Constant(integer, 0), behind, True, False),
        (behind, length, True, True),
        (length, builder.add(length, behind), False, True),
    ):
        with cgutils.for_range_slice(builder, begin, end, ir.Constant(integer, 1), inc=True) as (index, _):
            for signal, places in zip((first, second), kept, strict=True):
                sample = builder.load(builder.gep(signal, [index])) if reads else silence
                out = _advance_sections(builder, sample, weights, places)
                if writes:
                    last = builder.extract_element(out, ir.Constant(ir.IntType(32), LANES - 1))
                    builder.store(last, builder.gep(signal, [builder.sub(index, behind)]))


def _advance_sections(builder: Any, sample: Any, weights: list[Any], places: list[Any]) -> Any:
    """One step of ``cascade``: states z1, z2 and the last two outcomes are kept in ``places``."""
    b0, b1, b2, a1, a2 = weights
    z1, z2, newer, older = (builder.load(place) for place in places)
    # lane s takes what lane s - 1 gave two steps ago; lane 0 takes the sample
    moved = builder.shuffle_vector(older, older, ir.Constant(MASK, [0, *range(LANES - 1)]))
    inward = builder.insert_element(moved, sample, ir.Constant(ir.IntType(32), 0))
    z0 = builder.fsub(builder.fsub(inward, builder.fmul(a1, z1)), builder.fmul(a2, z2))
    out = builder.fadd(builder.fadd(builder.fmul(b0, z0), builder.fmul(b1, z1)), builder.fmul(b2, z2))
    for value, place in zip((z0, z1, out, newer), places, strict=True):
        builder.store(value, place)
    return out


@operation(arrays=4, integers=3)
def butterfly_stage(rows: Rows) -> None:
    """``(re, im, cosines, sines, start, half, block)``: one stage of the plain transform on sixteen pairs."""
    re, im, cosines, sines, start, half, block = rows.values
    first, second = four_places(rows, start, half)[:2]
    pair = [(rows.load(re, place), rows.load(im, place)) for place in (first, second)]
    turn = rows.scalar(cosines, block), rows.scalar(sines, block)
    for place, value in zip((first, second), _plain_stage(rows.builder, pair[0], pair[1], turn), strict=True):
        rows.store(value[0], re, place)
        rows.store(value[1], im, place)


@operation(arrays=4, integers=3)
def two_butterfly_stages(rows: Rows) -> None:
    """``(re, im, cosines, sines, start, step, block)``: two stages of the plain transform on sixteen quadruples."""
    re, im, cosines, sines, start, step, block = rows.values
    builder = rows.builder
    places = four_places(rows, start, step)
    a, b, c, d = ((rows.load(re, place), rows.load(im, place)) for place in places)
    twice = builder.shl(block, ir.Constant(block.type, 1))
    a, c = _plain_stage(builder, a, c, (rows.scalar(cosines, block), rows.scalar(sines, block)))
    b, d = _plain_stage(builder, b, d, (rows.scalar(cosines, block), rows.scalar(sines, block)))
    a, b = _plain_stage(builder, a, b, (rows.scalar(cosines, twice), rows.scalar(sines, twice)))
    c, d = _plain_stage(builder, c, d, (rows.scalar(cosines, twice, 1), rows.scalar(sines, twice, 1)))
    for place, value in zip(places, (a, b, c, d), strict=True):
        rows.store(value[0], re, place)
        rows.store(value[1], im, place)


@operation(arrays=4, integers=2)
def quarter_real(rows: Rows) -> None:
    """``(re, im, cosines, sines, start, step)``: the first two stages of a real signal; ``im`` is only written."""
    re, im, cosines, sines, start, step = rows.values
    builder = rows.builder
    places = four_places(rows, start, step)
    a, b, c, d = (rows.load(re, place) for place in places)
    a, c, b, d = builder.fadd(a, c), builder.fsub(a, c), builder.fadd(b, d), builder.fsub(b, d)
    one = ir.Constant(start.type, 1)
    across, along = builder.fmul(rows.scalar(sines, one), d), builder.fmul(rows.scalar(cosines, one), d)
    nothing = ir.Constant(ROW, [0.0] * LANES)
    outcome = (
        (builder.fadd(a, b), nothing),
        (builder.fsub(a, b), nothing),
        (builder.fadd(c, along), builder.fneg(across)),
        (builder.fsub(c, along), across),
    )
    for place, value in zip(places, outcome, strict=True):
        rows.store(value[0], re, place)
        rows.store(value[1], im, place)


@operation(arrays=4, integers=2)
def quarter_last_real(rows: Rows) -> None:
    """``(re, im, cosines, sines, start, block)``: the last two stages of four rows, real parts of the outcome only."""
    re, im, cosines, sines, start, block = rows.values
    builder = rows.builder
    places = four_places(rows, start, ir.Constant(start.type, LANES))
    a, b, c, d = ((rows.load(re, place), rows.load(im, place)) for place in places)
    twice = builder.shl(block, ir.Constant(block.type, 1))
    turn = rows.scalar(cosines, block), rows.scalar(sines, block)
    a, c = _plain_stage(builder, a, c, turn)
    b, d = _plain_stage(builder, b, d, turn)
    for (x, y), offset, first in (((a, b), 0, 0), ((c, d), 1, 2)):
        p = builder.fmul(rows.scalar(cosines, twice, offset), y[0])
        q = builder.fmul(rows.scalar(sines, twice, offset), y[1])
        rows.store(builder.fadd(builder.fadd(x[0], p), q), re, places[first])
        rows.store(builder.fsub(builder.fsub(x[0], p), q), re, places[first + 1])


def _plain_stage(builder: Any, x: tuple[Any, Any], y: tuple[Any, Any], turn: tuple[Any, Any]) -> tuple[Any, Any]:
    """``x + turn * y`` and ``x - turn * y``, where turn is cosine - i sine, each product and sum rounded by itself."""
    cosine, sine = turn
    a, b = builder.fmul(cosine, y[0]), builder.fmul(sine, y[1])
    c, d = builder.fmul(sine, y[0]), builder.fmul(cosine, y[1])
    plus = builder.fadd(builder.fadd(x[0], a), b), builder.fadd(builder.fsub(x[1], c), d)
    minus = builder.fsub(builder.fsub(x[0], a), b), builder.fsub(builder.fadd(x[1], c), d)
    return plus, minus


@operation(arrays=4, integers=2)
def last_stages(rows: Rows) -> None:
    """``(re, im, cosines, sines, start, block)``: the last four stages of the plain transform, on sixteen samples."""
    re, im, cosines, sines, start, block = rows.values
    builder = rows.builder
    real, imaginary = rows.load(re, start), rows.load(im, start)
    for stage in range(4):
        half, blocks = 8 >> stage, 1 << stage
        upper = [lane & half for lane in range(LANES)]
        lower_of = ir.Constant(MASK, [lane & ~half for lane in range(LANES)])
        upper_of = ir.Constant(MASK, [lane | half for lane in range(LANES)])
        sign = ir.Constant(ROW, [-1.0 if bit else 1.0 for bit in upper])
        at = builder.shl(block, ir.Constant(block.type, stage))
        cosine, sine = (builder.fmul(sign, _spread(builder, table, at, blocks, half)) for table in (cosines, sines))
        r1, i1 = (builder.shuffle_vector(value, value, lower_of) for value in (real, imaginary))
        r2, i2 = (builder.shuffle_vector(value, value, upper_of) for value in (real, imaginary))
        real = builder.fadd(builder.fadd(r1, builder.fmul(cosine, r2)), builder.fmul(sine, i2))
        imaginary = builder.fadd(builder.fsub(i1, builder.fmul(sine, r2)), builder.fmul(cosine, i2))
    rows.store(real, re, start)
    rows.store(imaginary, im, start)


def _spread(builder: Any, table: Any, at: Any, blocks: int, half: int) -> Any:
    """``blocks`` neighbouring numbers of ``table``, each repeated over the two halves of its block."""
    kind = ir.VectorType(FLOAT, blocks)
    some = builder.load(builder.bitcast(builder.gep(table, [at]), kind.as_pointer()), align=4)
    return builder.shuffle_vector(some, some, ir.Constant(MASK, [lane // (2 * half) for lane in range(LANES)]))


@operation(arrays=6, integers=3)
def cross_row(rows: Rows) -> None:
    """``(re, im, re2, im2, to_re, to_im, at, k, mirror)``: conjugate of a bin times the other signal's bin.

    Reads row ``at``, writes the product to row ``k`` and its conjugate to row ``mirror`` (all as sample offsets).
    """
    re, im, re2, im2, to_re, to_im, at, k, mirror = rows.values
    builder = rows.builder
    a, b, c, d = (rows.load(array, at) for array in (re, im, re2, im2))
    real = builder.fadd(builder.fmul(a, c), builder.fmul(b, d))
    imaginary = builder.fsub(builder.fmul(a, d), builder.fmul(b, c))
    rows.store(real, to_re, mirror)
    rows.store(builder.fneg(imaginary), to_im, mirror)
    rows.store(real, to_re, k)
    rows.store(imaginary, to_im, k)


@operation(arrays=3, integers=1)
def keep_loudest(rows: Rows) -> None:
    """Take ``(samples, scale, loudest, length)``: rows become magnitudes times ``scale[0]``; give their greatest."""
    samples, scale, loudest, length = rows.values
    builder, zero = rows.builder, ir.Constant(rows.values[3].type, 0)
    factor = rows.scalar(scale, zero)
    kept = cgutils.alloca_once_value(builder, ir.Constant(ROW, [0.0] * LANES))
    with cgutils.for_range(builder, length) as loop:
        start = builder.mul(loop.index, ir.Constant(zero.type, LANES))
        row, best = builder.fmul(rows.magnitude(rows.load(samples, start)), factor), builder.load(kept)
        rows.store(row, samples, start)
        builder.store(builder.select(builder.fcmp_ordered(">", row, best), row, best), kept)
    rows.store(builder.load(kept), loudest, zero)


@operation(arrays=2, integers=2)
def sum_squares(rows: Rows) -> None:
    """Take ``(samples, sums, length, to)``: sum the squares of ``length`` rows, row after row, to ``sums[to:]``."""
    samples, sums, length, to = rows.values
    builder = rows.builder
    kept = cgutils.alloca_once_value(builder, ir.Constant(ROW, [0.0] * LANES))
    with cgutils.for_range(builder, length) as loop:
        row = rows.load(samples, builder.mul(loop.index, ir.Constant(length.type, LANES)))
        builder.store(builder.fadd(builder.load(kept), builder.fmul(row, row)), kept)
    rows.store(builder.load(kept), sums, to)


@operation(arrays=4, integers=1)
def load_lanes(rows: Rows) -> None:
    """``(signal, starts, window, to, at)``: sixteen samples of each lane, from ``starts[lane] + at``, windowed."""
    signal, starts, window, to, at = rows.values
    builder, integer = rows.builder, rows.values[4].type
    block = []
    for lane in range(LANES):
        start = builder.load(builder.gep(starts, [ir.Constant(integer, lane)]))
        block.append(rows.load(signal, builder.add(start, at)))
    first = builder.mul(at, ir.Constant(integer, LANES))
    for i, row in enumerate(transposed(builder, block)):
        place = builder.add(first, ir.Constant(integer, LANES * i))
        rows.store(builder.fmul(row, rows.scalar(window, at, i)), to, place)


@operation(arrays=2, integers=3)
def reverse_tile(rows: Rows) -> None:
    """``(source, target, start, to, stride)``: sixteen rows ``stride`` apart change place with their columns.

    Rows and columns are both taken in reversed-bit order, which makes this one tile of a reversal of all bits.
    """
    _reverse(rows, LANES)


@operation(arrays=2, integers=3)
def reverse_low_tile(rows: Rows) -> None:
    """``reverse_tile``, of which only the lowest quarter of the target's rows is written."""
    _reverse(rows, LANES // 4)


def _reverse(rows: Rows, kept: int) -> None:
    source, target, start, to, stride = rows.values
    builder = rows.builder
    order = [int(f"{i:04b}"[::-1], 2) for i in range(LANES)]
    steps = [builder.mul(stride, ir.Constant(stride.type, i)) for i in order]
    block = [rows.load(source, builder.add(start, step)) for step in steps]
    for i, row, step in zip(order, transposed(builder, block), steps, strict=True):
        if i < kept:
            rows.store(row, target, builder.add(to, step))


@operation(arrays=2, integers=1, gives=types.intp)
def lanes_above(rows: Rows) -> Any:
    """Take ``(samples, thresholds, start)``: a bit for every lane of the row that is above that lane's threshold."""
    samples, thresholds, start = rows.values
    builder = rows.builder
    above = builder.fcmp_ordered(">", rows.load(samples, start), rows.load(thresholds, ir.Constant(start.type, 0)))
    return builder.zext(builder.bitcast(above, ir.IntType(LANES)), start.type)


@operation(arrays=3, integers=1)
def add_power(rows: Rows) -> None:
    """``(re, im, sums, start)``: add a row's squared magnitudes to sixteen float64 ``sums``."""
    re, im, sums, start = rows.values
    builder = rows.builder
    a, b = rows.load(re, start), rows.load(im, start)
    power = builder.fpext(builder.fadd(builder.fmul(a, a), builder.fmul(b, b)), WIDE_ROW)
    place = builder.bitcast(sums, WIDE_ROW.as_pointer())
    builder.store(builder.fadd(builder.load(place, align=8), power), place, align=8)


def _read_as(source: Any, target: Any, kind: Any) -> Any:
    """Make an intrinsic that reads the bits of a number as another type."""

    def reading(_typing: Any, _number: Any) -> tuple[Any, Any]:
        return target(source), lambda _context, builder, _signature, values: builder.bitcast(values[0], kind)

    return intrinsic(reading)


bits_of: Any = _read_as(types.float64, types.int64, ir.IntType(64))
"""The bits of a float64 as an integer."""
float_of: Any = _read_as(types.int64, types.float64, ir.DoubleType())
"""The float64 of these bits."""
