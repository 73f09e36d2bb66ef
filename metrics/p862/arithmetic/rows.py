"""Rows of sixteen float32 numbers as LLVM vectors: what the vector operations of this package are written with.

A row is sixteen neighbouring numbers of an array. An operation is a function that writes instructions on rows; numba
puts them into the compiled loop that calls it. LLVM splits rows into whatever the processor has.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from numba import types
from numba.core import cgutils as untyped_cgutils
from numba.extending import intrinsic as untyped_intrinsic

LANES = 16
intrinsic: Any = untyped_intrinsic
cgutils: Any = untyped_cgutils
ir: Any = cgutils.ir
"""The builder of LLVM code that numba itself uses."""
FLOAT = ir.FloatType()
ROW = ir.VectorType(FLOAT, LANES)
WIDE_ROW = ir.VectorType(ir.DoubleType(), LANES)
MASK = ir.VectorType(ir.IntType(32), LANES)


class Rows:
    """Builds vector instructions on rows of numba arrays inside one intrinsic."""

    def __init__(self, context: Any, builder: Any, signature: Any, values: Any) -> None:
        self.builder = builder
        self.values = [
            context.make_array(kind)(context, builder, value).data if isinstance(kind, types.Array) else value
            for kind, value in zip(signature.args, values, strict=True)
        ]

    def _place(self, array: Any, index: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(array, [index]), ROW.as_pointer())

    def load(self, array: Any, index: Any) -> Any:
        """Read the row of ``array`` that begins at ``index``."""
        # float32 numbers are aligned to 4 bytes, vectors to their own size, if nothing is said
        return self.builder.load(self._place(array, index), align=4)

    def store(self, row: Any, array: Any, index: Any) -> None:
        """Write ``row`` to ``array`` from ``index`` on."""
        self.builder.store(row, self._place(array, index), align=4)

    def scalar(self, array: Any, index: Any, offset: int = 0) -> Any:
        """Read one number into all lanes."""
        place = self.builder.add(index, ir.Constant(index.type, offset))
        return self.splat(self.builder.load(self.builder.gep(array, [place])))

    def splat(self, value: Any) -> Any:
        """Put ``value`` into all lanes."""
        first = self.builder.insert_element(ir.Constant(ROW, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
        return self.builder.shuffle_vector(first, ir.Constant(ROW, ir.Undefined), ir.Constant(MASK, [0] * LANES))

    def magnitude(self, x: Any) -> Any:
        """Take the sign off each number of a row."""
        bits = self.builder.and_(self.builder.bitcast(x, MASK), ir.Constant(MASK, [0x7FFFFFFF] * LANES))
        return self.builder.bitcast(bits, ROW)


def operation(arrays: int, integers: int, *, gives: Any = types.void) -> Callable[[Callable[[Rows], Any]], Any]:
    """Make an intrinsic of a function that writes vector instructions: float32 arrays first, then integers."""

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
    """Sixteen rows as columns: halves of blocks change places, then quarters, and so on."""
    lanes = range(LANES)
    for size in (8, 4, 2, 1):
        ours = ir.Constant(MASK, [lane if not lane & size else LANES + (lane & ~size) for lane in lanes])
        theirs = ir.Constant(MASK, [lane | size if not lane & size else LANES + lane for lane in lanes])
        for i in lanes:
            if not i & size:
                a, b = block[i], block[i | size]
                block[i] = builder.shuffle_vector(a, b, ours)
                block[i | size] = builder.shuffle_vector(a, b, theirs)
    return block
