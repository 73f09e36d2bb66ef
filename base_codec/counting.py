"""Count the floating-point operations of what torch computes, with torch's own counter; a multiply-add is two.

Counted are products of matrices, convolutions, recurrent layers and attention: what ``torch.utils.flop_counter`` has a
formula for, and here what it has none for on a CPU. Everything else (sums, activations, Fourier transforms) is not
counted. The worker of a private environment loads this file too: it needs only the standard library.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Container, Sequence
from contextlib import ExitStack
from math import prod
from typing import Any, NamedTuple, Self

BACKEND = "torch.utils.flop_counter"
_PRODUCT = re.compile(
    r"(^|_)([a-z]{0,6}mm|linear|trilinear|mv|addmv|ger|v?dot|cdist)(_|$)"
    r"|conv(?!ert)|rnn(?!_flatten)|lstm_mps|attention|transformer_encoder|solve|svd"
)
"""Names of operators of ATen that multiply matrices; one without a formula is not counted."""
_NAMESPACES = ("aten::", "prim::", "prims::")
"""Of torch's own operators; others are kernels of packages, of which nothing is known."""


class Counted(NamedTuple):
    """What was counted."""

    operations: int | None
    """None where nothing could be counted; never 0."""
    backend: str = BACKEND
    unseen: tuple[str, ...] = ()
    """Operators that multiply and were not counted: ``operations`` is then a lower bound."""
    reason: str = ""
    """Why nothing was counted."""


class OperationCounter:
    """A context in which the operations of torch are counted; :meth:`found` gives their number afterwards."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._counter: Any = None
        self._seen: set[str] = set()
        self._reason = ""

    def __enter__(self) -> Self:
        # not imported here: a codec without torch has nothing to count
        torch = sys.modules.get("torch")
        if torch is None:
            self._reason = "it does not run in torch"
            return self
        try:
            from torch.utils.flop_counter import FlopCounterMode
        except ImportError:
            self._reason = f"torch {torch.__version__} has no counter of operations"
            return self
        mha = getattr(torch.backends, "mha", None)
        if mha is not None and mha.get_fastpath_enabled():
            # one kernel for a whole layer, which no formula knows; without it the layer computes the same in parts
            mha.set_fastpath_enabled(False)
            self._stack.callback(mha.set_fastpath_enabled, True)
        self._counter = FlopCounterMode(display=False, custom_mapping=_formulas(torch.ops.aten))
        self._counter.mod_tracker = _WholeModel()
        self._stack.enter_context(_witness(self._counter.flop_registry, self._seen))
        self._stack.enter_context(self._counter)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def found(self) -> Counted:
        """Return what was counted."""
        if self._counter is None:
            return Counted(None, reason=self._reason)
        total = int(self._counter.get_total_flops())
        unseen = tuple(sorted(self._seen))[:20]
        if total:
            return Counted(total, unseen=unseen)
        what = f"only {', '.join(unseen)}" if unseen else "no operation"
        return Counted(None, reason=f"torch's counter saw {what}: it computes elsewhere, or compiled")


class _WholeModel:
    """Stands in for the counter's tracker of modules, which needs gradients where a weight is parametrised."""

    parents = frozenset({"Global"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was begun."""


def _witness(counted: Container[Any], seen: set[str]) -> Any:
    """Return a mode of torch that notes the operators which multiply and are not ``counted``.

    It lies outside the counter, and so gets what the counter has taken apart.
    """
    from torch.utils._python_dispatch import TorchDispatchMode

    class Witness(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
            schema = getattr(func, "_schema", None)
            name = str(func if schema is None else schema.name)
            multiplies = not name.startswith(_NAMESPACES) or _PRODUCT.search(name.partition("::")[2])
            if multiplies and getattr(func, "overloadpacket", func) not in counted:
                seen.add(name.removeprefix("aten::"))
            return func(*args, **(kwargs or {}))

    return Witness()  # type: ignore[no-untyped-call]


def _formulas(aten: Any) -> dict[Any, Any]:
    """Return the formulas that torch's counter lacks, by operator; those that this torch does not have are left out."""
    known = {
        "mkldnn_rnn_layer": _recurrent_layer,
        "_cudnn_rnn": _recurrent_layers,
        "_scaled_dot_product_flash_attention_for_cpu": _attention,
        "_euclidean_dist": _distances,
        "mv": _matrix_vector,
        "addmv": _added_matrix_vector,
        "dot": _dot,
        "vdot": _dot,
    }
    return {getattr(aten, name): formula for name, formula in known.items() if hasattr(aten, name)}


def _shape(value: Any) -> tuple[int, ...]:
    """Shape of a tensor; torch's counter gives shapes in place of tensors."""
    return tuple(getattr(value, "shape", value))


def _recurrent(steps: tuple[int, ...], weights: Sequence[Any]) -> int:
    """Count a multiply-add for each weight at each step of each clip; ``steps``: shape of the input, features last."""
    matrices = (_shape(weight) for weight in weights)
    return 2 * prod(steps[:-1]) * sum(prod(shape) for shape in matrices if len(shape) > 1)


def _recurrent_layer(sound: Any, inner: Any, recurrent: Any, *_: Any, **__: Any) -> int:
    """Count one direction of one layer on the CPU (oneDNN)."""
    return _recurrent(_shape(sound), (inner, recurrent))


def _recurrent_layers(sound: Any, weights: Sequence[Any], *_: Any, **__: Any) -> int:
    """Count all layers and directions on CUDA (cuDNN)."""
    return _recurrent(_shape(sound), weights)


def _attention(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
    """Count both products of attention over all keys, masked or not, as torch counts them on CUDA."""
    (*batch, queries, width), (*_b, keys, _w), depth = _shape(query), _shape(key), _shape(value)[-1]
    return 2 * prod(batch) * queries * keys * (width + depth)


def _distances(left: Any, right: Any, **_: Any) -> int:
    """Count the product behind Euclidean distances, which is two columns longer, for the squares."""
    (*batch, rows, width), columns = _shape(left), _shape(right)[-2]
    return 2 * prod(batch) * rows * columns * (width + 2)


def _matrix_vector(matrix: Any, *_: Any, **__: Any) -> int:
    return 2 * prod(_shape(matrix))


def _added_matrix_vector(_added: Any, matrix: Any, *_: Any, **__: Any) -> int:
    return 2 * prod(_shape(matrix))


def _dot(vector: Any, *_: Any, **__: Any) -> int:
    return 2 * prod(_shape(vector))
