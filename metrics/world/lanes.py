"""Sliding sums of eight stretches of a signal side by side, written as LLVM vectors.

A row holds one sample of each stretch; a step of the recursion is then the same operation on eight neighbours. numba
keeps the state of such a loop in memory, because it cannot prove that the rows do not overlap; here it stays in
registers. LLVM splits a row into whatever the processor has.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from numba import types
from numba.core import cgutils as untyped_cgutils
from numba.extending import intrinsic as untyped_intrinsic

LANES = 8
COLUMNS = 7
"""Numbers a sample of a period: three cosines and sines, and the dither."""
SUMS = 7
"""Running sums: the mean, and three cosines and sines."""

intrinsic: Any = untyped_intrinsic
cgutils: Any = untyped_cgutils
ir: Any = cgutils.ir
_ROW = ir.VectorType(ir.DoubleType(), LANES)
_MASK = ir.VectorType(ir.IntType(32), LANES)
_FUSED = ("contract",)


class _Loop:
    """What both operations share: rows of arrays, the sums, and the place within the period."""

    def __init__(self, context: Any, builder: Any, signature: Any, values: Any) -> None:
        self.builder = builder
        self.arrays = [
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(signature.args, values, strict=True)
            if isinstance(kind, types.Array)
        ]
        self.integers = values[len(self.arrays) :]
        self.integer = self.integers[0].type

    def constant(self, value: int) -> Any:
        return ir.Constant(self.integer, value)

    def place(self, array: Any, row: Any) -> Any:
        at = self.builder.gep(array, [self.builder.mul(row, self.constant(LANES))])
        return self.builder.bitcast(at, _ROW.as_pointer())

    def load(self, array: Any, row: Any) -> Any:
        # numpy aligns to 16 bytes at most, vectors are aligned to their own size if nothing is said
        return self.builder.load(self.place(array, row), align=8)

    def store(self, value: Any, array: Any, row: Any) -> None:
        self.builder.store(value, self.place(array, row), align=8)

    def scalar(self, array: Any, index: Any) -> Any:
        """Read one number into all lanes."""
        value = self.builder.load(self.builder.gep(array, [index]))
        first = self.builder.insert_element(ir.Constant(_ROW, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
        return self.builder.shuffle_vector(first, ir.Constant(_ROW, ir.Undefined), ir.Constant(_MASK, [0] * LANES))

    def fused(self, a: Any, b: Any, c: Any) -> Any:
        """Return ``a * b + c``, with one rounding where the processor can."""
        return self.builder.fadd(self.builder.fmul(a, b, flags=_FUSED), c, flags=_FUSED)

    def kept(self, array: Any) -> list[Any]:
        """Put the sums of ``array`` where they become registers."""
        rows = [self.load(array, self.constant(i)) for i in range(SUMS)]
        return [cgutils.alloca_once_value(self.builder, row) for row in rows]

    def put_back(self, sums: list[Any], array: Any) -> None:
        for i, place in enumerate(sums):
            self.store(self.builder.load(place), array, self.constant(i))

    def added(self, sums: list[Any], row: Any, weights: list[Any]) -> list[Any]:
        """Add ``row`` under each weight (none for the mean) to the sums; return them."""
        now = [self.builder.fadd(self.builder.load(sums[0]), row)]
        now += [
            self.fused(weight, row, self.builder.load(place)) for weight, place in zip(weights, sums[1:], strict=True)
        ]
        for value, place in zip(now, sums, strict=True):
            self.builder.store(value, place)
        return now

    def weights(self, table: Any, phase: Any) -> tuple[list[Any], Any]:
        """Return the cosines and sines at ``phase``, and the dither."""
        at = self.builder.mul(phase, self.constant(COLUMNS))
        values = [self.scalar(table, self.builder.add(at, self.constant(i))) for i in range(COLUMNS)]
        return values[:-1], values[-1]

    def turned(self, phase: Any, period: Any) -> Any:
        """Return the next phase."""
        following = self.builder.add(phase, self.constant(1))
        whole = self.builder.icmp_signed("==", following, period)
        return self.builder.select(whole, self.constant(0), following)


def _operation(arrays: int, integers: int, write: Callable[[_Loop], Any]) -> Any:
    """Make an intrinsic of a function that writes instructions: float64 arrays first (the last may be bytes)."""

    def built(_typing: Any, *kinds: Any) -> tuple[Any, Any]:
        def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return write(_Loop(context, builder, signature, values))

        return types.intp(*kinds[:arrays], *[types.intp] * integers), build

    # numba reads how many arguments there are from the signature
    names = ["typing", *(f"array{i}" for i in range(arrays)), *(f"integer{i}" for i in range(integers))]
    built.__signature__ = Signature([Parameter(n, Parameter.POSITIONAL_OR_KEYWORD) for n in names])  # type: ignore[attr-defined]
    built.__name__ = write.__name__.strip("_")
    return intrinsic(built)


def _fill(loop: _Loop) -> Any:
    rows, table, state = loop.arrays
    first, steps, period, phase = loop.integers
    builder, sums = loop.builder, loop.kept(state)
    turn = cgutils.alloca_once_value(builder, phase)
    with cgutils.for_range(builder, steps) as each:
        weights, _ = loop.weights(table, builder.load(turn))
        loop.added(sums, loop.load(rows, builder.add(first, each.index)), weights)
        builder.store(loop.turned(builder.load(turn), period), turn)
    loop.put_back(sums, state)
    return builder.load(turn)


def _slide(loop: _Loop) -> Any:
    rows, table, state, out, flags = loop.arrays
    first, steps, period, phase = loop.integers
    builder, sums = loop.builder, loop.kept(state)
    mean_weight, dither_size = (loop.load(state, loop.constant(SUMS + i)) for i in range(2))
    turn = cgutils.alloca_once_value(builder, phase)
    before, last = (loop.load(out, loop.constant(i)) for i in range(2))
    newest, slope = (cgutils.alloca_once_value(builder, row) for row in (last, builder.fsub(last, before)))
    zero = ir.Constant(_ROW, [0.0] * LANES)
    with cgutils.for_range(builder, steps) as each:
        at = builder.add(first, each.index)
        weights, dither = loop.weights(table, builder.load(turn))
        change = builder.fsub(loop.load(rows, at), loop.load(rows, builder.sub(at, period)))
        now = loop.added(sums, change, weights)
        value = loop.fused(mean_weight, now[0], builder.fmul(dither, dither_size))
        halves = [
            loop.fused(weights[2 * k + 1], now[2 * k + 2], builder.fmul(weights[2 * k], now[2 * k + 1], flags=_FUSED))
            for k in range(3)
        ]
        # the signs of the window's cosines: -, +, -
        value = builder.fadd(builder.fsub(value, builder.fadd(halves[0], halves[2])), halves[1])
        rise = builder.fsub(value, builder.load(newest))
        crossing, turning = (
            builder.fcmp_ordered("<=", builder.fmul(builder.load(old), new), zero)
            for old, new in ((newest, value), (slope, rise))
        )
        marks = builder.bitcast(builder.or_(crossing, turning), ir.IntType(LANES))
        builder.store(marks, builder.gep(flags, [each.index]))
        loop.store(value, out, builder.add(each.index, loop.constant(2)))
        builder.store(value, newest)
        builder.store(rise, slope)
        builder.store(loop.turned(builder.load(turn), period), turn)
    loop.put_back(sums, state)
    return builder.load(turn)


fill: Any = _operation(3, 4, _fill)
"""``(rows, table, state, first, steps, period, phase)``: add rows to the sums of ``state``; the phase after them."""
slide: Any = _operation(5, 4, _slide)
"""``(rows, table, state, out, flags, first, steps, period, phase)``: move the sums on; the phase after the last step.

Row ``first + i`` comes in and the one ``period`` before goes out, and row ``2 + i`` of ``out`` becomes the windowed
sum; rows 0 and 1 are those before. ``flags[i]`` has a bit for each lane whose value or whose slope may have changed its
sign. After its sums ``state`` holds the weight of the mean and the size of the dither.
"""
