"""Rows of sixteen float32 or eight float64 numbers as LLVM vectors: what vector operations are written with.

A row is 64 bytes of neighbouring numbers of an array. An operation is a function that writes instructions on rows;
numba puts them into the compiled loop that calls it. LLVM splits rows into whatever the processor has.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from numba import types
from numba.core import cgutils as untyped_cgutils
from numba.extending import intrinsic as untyped_intrinsic

LANES = 16
WIDE_LANES = 8
"""Numbers of a row of float64."""
intrinsic: Any = untyped_intrinsic
cgutils: Any = untyped_cgutils
ir: Any = cgutils.ir
"""The builder of LLVM code that numba itself uses."""
FLOAT = ir.FloatType()
ROW = ir.VectorType(FLOAT, LANES)
DOUBLE = ir.DoubleType()
WIDE_ROW = ir.VectorType(DOUBLE, LANES)
"""Twice as long as a row of float64."""
MASK = ir.VectorType(ir.IntType(32), LANES)


def mask(lanes: list[int]) -> Any:
    """Return these places of two rows as the constant that a shuffle takes."""
    return ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)


class Rows:
    """Builds vector instructions on rows of numba arrays inside one intrinsic, of the first array's kind of number."""

    def __init__(self, context: Any, builder: Any, signature: Any, values: Any) -> None:
        self.builder = builder
        wide = signature.args[0].dtype == types.float64
        self.number, self.lanes = (DOUBLE, WIDE_LANES) if wide else (FLOAT, LANES)
        self.row = ir.VectorType(self.number, self.lanes)
        self.values = [
            context.make_array(kind)(context, builder, value).data if isinstance(kind, types.Array) else value
            for kind, value in zip(signature.args, values, strict=True)
        ]

    def _place(self, array: Any, index: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(array, [index]), self.row.as_pointer())

    def load(self, array: Any, index: Any) -> Any:
        """Read the row of ``array`` that begins at ``index``."""
        # numbers are aligned to their own size, vectors to theirs, if nothing is said
        return self.builder.load(self._place(array, index), align=64 // self.lanes)

    def store(self, row: Any, array: Any, index: Any) -> None:
        """Write ``row`` to ``array`` from ``index`` on."""
        self.builder.store(row, self._place(array, index), align=64 // self.lanes)

    def scalar(self, array: Any, index: Any, offset: int = 0) -> Any:
        """Read one number into all lanes."""
        place = self.builder.add(index, ir.Constant(index.type, offset))
        return self.splat(self.builder.load(self.builder.gep(array, [place])))

    def splat(self, value: Any) -> Any:
        """Put ``value`` into all lanes."""
        nothing = ir.Constant(self.row, ir.Undefined)
        first = self.builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
        return self.builder.shuffle_vector(first, nothing, mask([0] * self.lanes))

    def magnitude(self, x: Any) -> Any:
        """Take the sign off each number of a row of float32."""
        bits = self.builder.and_(self.builder.bitcast(x, MASK), ir.Constant(MASK, [0x7FFFFFFF] * LANES))
        return self.builder.bitcast(bits, ROW)


def operation(arrays: int, integers: int, *, gives: Any = types.void) -> Callable[[Callable[[Rows], Any]], Any]:
    """Make an intrinsic of a function that writes vector instructions: arrays first, then integers."""

    def wrap(write: Callable[[Rows], Any]) -> Any:
        def built(_typing: Any, *kinds: Any) -> tuple[Any, Any]:
            def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                outcome = write(Rows(context, builder, signature, values))
                return context.get_dummy_value() if outcome is None else outcome

            return gives(*kinds[:arrays], *[types.intp] * integers), build

        # numba reads how many arguments there are from the signature
        names = ["typing", *(f"array{i}" for i in range(arrays)), *(f"integer{i}" for i in range(integers))]
        built.__signature__ = Signature([Parameter(n, Parameter.POSITIONAL_OR_KEYWORD) for n in names])  # type: ignore[attr-defined]
        built.__name__, built.__doc__ = write.__name__, write.__doc__
        return intrinsic(built)

    return wrap


def four_places(rows: Rows, start: Any, step: Any) -> list[Any]:
    """``start`` and three more, each ``step`` further on."""
    places = [start]
    for _ in range(3):
        places.append(rows.builder.add(places[-1], step))
    return places


def transposed(builder: Any, block: list[Any]) -> list[Any]:
    """As many rows as lanes, as columns: halves of blocks change places, then quarters, and so on."""
    count = len(block)
    lanes, size = range(count), count
    while size > 1:
        size //= 2
        ours = mask([lane if not lane & size else count + (lane & ~size) for lane in lanes])
        theirs = mask([lane | size if not lane & size else count + lane for lane in lanes])
        for i in lanes:
            if not i & size:
                a, b = block[i], block[i | size]
                block[i] = builder.shuffle_vector(a, b, ours)
                block[i | size] = builder.shuffle_vector(a, b, theirs)
    return block
