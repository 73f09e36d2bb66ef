"""A stand-in for a graphics card: a device of PyTorch's own that computes on the CPU and is as strict as CUDA.

Tensors on it hold a tensor of the CPU. As with CUDA, an operation on tensors of both devices is an error, and so is a
tensor that becomes an array of numpy without ``.cpu()``. What it leaves unproven is the arithmetic of a real card.
"""

from __future__ import annotations

import torch
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "standin"
MOVES = {torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default}
"""Operations that take a tensor from one device to the other."""
INDICES = {
    torch.ops.aten.index.Tensor, torch.ops.aten.index_put_.default, torch.ops.aten._unsafe_index.Tensor,
    torch.ops.aten.index_put.default, torch.ops.aten._index_put_impl_.default,
}  # fmt: skip
"""Operations whose indices may lie on the CPU, with CUDA too."""


def lstm_cell(input_gates, hidden_gates, cell, *biases):  # noqa: ANN001, ANN002, ANN201
    """Compute the cell of an LSTM as PyTorch's fused kernel does, which exists for graphics cards alone."""
    into, forget, new, out = sum(biases, input_gates + hidden_gates).chunk(4, 1)
    cell = forget.sigmoid() * cell + into.sigmoid() * new.tanh()
    return out.sigmoid() * cell.tanh(), cell, torch.zeros_like(input_gates)


REPLACED = {torch.ops.aten._thnn_fused_lstm_cell.default: lstm_cell}
"""Operations that PyTorch has for graphics cards and not for the CPU."""


def moved(make):  # noqa: ANN001, ANN201
    """Return ``torch.tensor`` or ``torch.as_tensor`` so that no operation below the stand-in is asked for."""

    def made(data, *args, device=None, **kwargs):  # noqa: ANN001, ANN002, ANN003, ANN202
        if isinstance(data, OnCard):
            return data.to(device=device, **kwargs)
        its = make(data, *args, **kwargs)
        return its if device is None else its.to(device)

    return made


def register():  # noqa: ANN201
    """Make ``torch.device("standin")`` known; return its name.

    ``inference_mode`` becomes ``no_grad``: a view of a tensor that describes another cannot be made in it. What makes
    tensors of numbers does so on the CPU, and moves them. A package may ask for a block without mixed precision.
    """
    _setup_privateuseone_for_python_backend(NAME)
    getattr(torch, NAME).get_amp_supported_dtype = lambda: [torch.float16, torch.bfloat16]
    torch.inference_mode = torch.no_grad
    torch.tensor, torch.as_tensor = moved(torch.tensor), moved(torch.as_tensor)
    return NAME


class OnCard(torch.Tensor):
    """A tensor of the stand-in."""

    @staticmethod
    def __new__(cls, held):  # noqa: ANN001, ANN205
        """Describe ``held``, a tensor of the CPU, as one of the stand-in."""
        return torch.Tensor._make_wrapper_subclass(
            cls, held.shape, strides=held.stride(), storage_offset=held.storage_offset(), dtype=held.dtype,
            device=torch.device(NAME, 0),
        )  # fmt: skip

    def __init__(self, held):  # noqa: ANN001, ANN204
        """Keep what is described."""
        self.held = held

    def __repr__(self):  # noqa: ANN204
        """Show what is held."""
        return f"OnCard({self.held!r})"

    @classmethod
    def __torch_dispatch__(cls, function, kinds, args=(), kwargs=None):  # noqa: ANN001, ANN206
        """Compute on what is held."""
        return computed(function, args, kwargs or {})


class Card(TorchDispatchMode):
    """While it is active, tensors can be made on the stand-in."""

    def __torch_dispatch__(self, function, kinds, args=(), kwargs=None):  # noqa: ANN001, ANN204
        """Compute on what is held."""
        return computed(function, args, kwargs or {})


def computed(function, args, kwargs):  # noqa: ANN001, ANN201
    """Call an operation on the tensors that are held, and return its results where CUDA would have them."""
    tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
    named = kwargs.get("device")
    on_card = any(isinstance(each, OnCard) for each in tensors)
    if function is torch.ops.aten._has_compatible_shallow_copy_type.default:
        return type(args[0]) is type(args[1])
    if function not in MOVES:
        refuse_mixture(function, args, tensors, on_card)
    if named is not None:
        on_card = torch.device(named).type == NAME
        kwargs = {**kwargs, "device": torch.device("cpu")}
    elif function is torch.ops.aten.copy_.default:
        on_card = isinstance(args[0], OnCard)
    given = tree_map(lambda each: each.held if isinstance(each, OnCard) else each, (args, kwargs))
    result = REPLACED.get(function, function)(*given[0], **given[1])
    if function.__name__.split(".")[0].endswith("_") and args and isinstance(args[0], OnCard):
        if torch.Tag.inplace_view in function.tags:  # transpose_ of torch.stft: the description has to follow
            with no_dispatch():
                function(*args, **kwargs)
        return args[0]
    return tree_map(lambda each: OnCard(each) if on_card and isinstance(each, torch.Tensor) else each, result)


def refuse_mixture(function, args, tensors, on_card):  # noqa: ANN001, ANN201
    """Raise RuntimeError for tensors of both devices, but single numbers, and indices of the CPU."""
    if function in INDICES:
        tensors = [args[0]]
    others = [each for each in tensors if not isinstance(each, OnCard) and each.dim()]
    if on_card and others:
        shapes = ", ".join(str(tuple(each.shape)) for each in others)
        raise RuntimeError(f"{function}: expected all tensors on {NAME}, found some on the CPU: {shapes}")
