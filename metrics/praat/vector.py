"""What the correlations need besides the quick transform, on rows of eight float64 numbers: one of each frame."""

from __future__ import annotations

from codec_superb.metrics.p862.arithmetic.fast_fft import apart, fused_add, squares
from codec_superb.metrics.p862.arithmetic.rows import WIDE_LANES, Rows, ir, operation, transposed


@operation(arrays=7, integers=5)
def fold_power(rows: Rows) -> None:
    """``(re, im, cosines, sines, weights, to, first, bin, at, mirror_at, start, mirror_start)``: powers, folded.

    Bins ``bin`` and length - ``bin`` of the frames stand at ``at`` and ``mirror_at`` of their halves' spectra. Their
    powers are even: they go to ``start`` and ``mirror_start`` of a real signal half as long, whose transform gives the
    even lags, and the steps between the odd ones; lag 1 is summed in ``first``.
    """
    re, im, cosines, sines, weights, to, first, number, at, mirror_at, start, mirror_start = rows.values
    builder = rows.builder
    turn = rows.scalar(cosines, number), rows.scalar(sines, number)
    z, mirror = ((rows.load(re, place), rows.load(im, place)) for place in (at, mirror_at))
    low, high = (squares(builder, value) for value in apart(builder, z, mirror, turn))
    total, gap = builder.fadd(low, high), builder.fsub(low, high)
    across = builder.fmul(turn[1], gap)
    half = builder.fmul(total, ir.Constant(rows.row, [0.5] * WIDE_LANES))
    rows.store(builder.fadd(half, across), to, mirror_start)
    rows.store(builder.fsub(half, across), to, start)
    zero = ir.Constant(number.type, 0)
    rows.store(fused_add(builder, rows.scalar(weights, number), gap, rows.load(first, zero)), first, zero)


@operation(arrays=5, integers=4)
def two_lags(rows: Rows) -> None:
    """``(re, im, cosines, sines, to, bin, at, mirror_at, start)``: an even lag, and the odd one after it.

    Row ``start`` of ``to`` (as offset) holds the odd lag before; the two rows after it are written.
    """
    re, im, cosines, sines, to, number, at, mirror_at, start = rows.values
    builder = rows.builder
    turn = rows.scalar(cosines, number), rows.scalar(sines, number)
    z, mirror = ((rows.load(re, place), rows.load(im, place)) for place in (at, mirror_at))
    real, imaginary = apart(builder, z, mirror, turn)[0]
    places = [builder.add(start, ir.Constant(start.type, WIDE_LANES * i)) for i in (1, 2)]
    rows.store(real, to, places[0])
    # the transform turns the other way than the sum of sines that is meant
    rows.store(builder.fsub(rows.load(to, start), imaginary), to, places[1])


@operation(arrays=2, integers=3)
def transpose_tile(rows: Rows) -> None:
    """``(source, to, at, start, stride)``: eight rows from ``at``, as eight columns ``stride`` numbers apart."""
    source, to, at, start, stride = rows.values
    builder = rows.builder
    block = [rows.load(source, builder.add(at, ir.Constant(at.type, WIDE_LANES * i))) for i in range(WIDE_LANES)]
    for i, row in enumerate(transposed(builder, block)):
        rows.store(row, to, builder.add(start, builder.mul(stride, ir.Constant(stride.type, i))))
