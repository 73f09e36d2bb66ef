"""Codecs that are given as objects: what their rows rest on, and how they are run without a trace.

A torch module is known by its class, whoever imported torch: this module imports it only where one is there.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import os
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from types import CodeType
from typing import Any, Literal

import numpy as np

from codec_superb.base_codec.adapting import bytes_of
from codec_superb.base_codec.errors import RefusedSetting
from codec_superb.base_codec.interface import Codec
from codec_superb.pipeline.workers.devices import Device


def modules_of(obj: object) -> list[Any]:
    """Return the torch modules that an object is, has as attributes, or is a method of; each once."""
    if (torch := sys.modules.get("torch")) is None:
        return []
    found: dict[int, Any] = {}
    seen: set[int] = set()
    waiting = [obj]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, torch.nn.Module):
            found[id(one)] = one
        else:
            waiting += _parts(one)
    return list(found.values())


def _parts(obj: object) -> Iterable[object]:
    """Return what an object may keep a module in: items, attributes of a codec, a method's owner, a closure's cells."""
    if isinstance(obj, Mapping | list | tuple):
        return list(obj.values() if isinstance(obj, Mapping) else obj)
    if isinstance(obj, functools.partial):
        return [obj.func, *obj.args, *obj.keywords.values()]
    if inspect.ismethod(obj):
        return [obj.__self__]
    if inspect.isfunction(obj):
        with suppress(ValueError):  # a variable that has no value yet
            names = inspect.getclosurevars(obj)
            return [*names.nonlocals.values(), *names.globals.values()]
    return list(vars(obj).values()) if isinstance(obj, Codec) else []


class _Unknown(Exception):
    """Something is part of a codec that cannot be told from another thing of its kind."""


def identity(codec: Codec) -> bytes:
    """Return what the rows of a codec rest on beside its card: its modules' tensors, its settings and its code.

    A codec without modules, or with an attribute that only an address tells, has another identity at each call.
    """
    modules = modules_of(codec)
    if not modules:
        return no_identity(codec)
    digest = hashlib.sha256()
    try:
        _add_object(digest.update, codec)
        for module in modules:
            digest.update(repr(module).encode())
            for part in module.modules():
                _add_object(digest.update, part)
            for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
                digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
                digest.update(bytes_of(tensor))
    except _Unknown:
        return no_identity(codec)
    return digest.digest()


def no_identity(_codec: Codec) -> bytes:
    """Return an identity that no other call has."""
    return os.urandom(32)


def _add_object(update: Callable[[bytes], None], obj: object) -> None:
    """Add an object's settings and the code of its methods; ``training`` is what this package itself changes."""
    import torch

    private = isinstance(obj, torch.nn.Module)  # torch's own bookkeeping
    for name, value in sorted(vars(obj).items()):
        if name != "training" and not (private and name.startswith("_")):
            update(f"{name}={_told(value)};".encode())
    for cls in type(obj).__mro__:
        if cls.__module__.partition(".")[0] not in {"torch", "builtins", "abc"}:
            for name, method in sorted(vars(cls).items()):
                if isinstance(code := getattr(method, "__code__", None), CodeType):
                    update(name.encode())
                    _add_code(update, code)


def _told(value: Any) -> str:
    """Write a setting; modules and tensors are added with their values.

    Raises _Unknown where only an address tells, and for arrays inside of something, whose text is rounded or cut.
    """
    if hasattr(value, "detach"):
        return f"{value.dtype} {tuple(value.shape)} {hashlib.sha256(bytes_of(value)).hexdigest()}"
    if isinstance(value, np.ndarray):  # numpy shortens the text of an array
        return f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    text = repr(value)
    if any(sign in text for sign in (" at 0x", "array(", "tensor(")):
        raise _Unknown
    return text


def _add_code(update: Callable[[bytes], None], code: CodeType) -> None:
    update(code.co_code)
    update(repr(code.co_names).encode())
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _add_code(update, constant)
        elif not isinstance(constant, frozenset):  # its order changes with each process
            update(repr(constant).encode())


def device_for(modules: Iterable[Any], device: Device) -> Literal["cpu", "cuda"]:
    """Return where an object with these modules runs: where they lie, and without any as ``device`` asks.

    Raises RefusedSetting for another device than theirs, and for ``cuda`` where there is none.
    """
    kinds = {tensor.device.type for module in modules for tensor in [*module.parameters(), *module.buffers()]}
    place = None if not kinds else "cuda" if "cuda" in kinds else "cpu"
    if device not in {"auto", place or device}:
        raise RefusedSetting(f"device={device!r}: the model lies on {place}; move it yourself, or leave device out")
    if device == "cuda" and place is None and not _cuda_here():
        raise RefusedSetting(
            "device='cuda': torch finds no CUDA device here; leave device out, an object stays where it is"
        )
    return "cuda" if "cuda" in {place, device} else "cpu"


def _cuda_here() -> bool:
    """Whether torch finds a CUDA device; without torch there is none."""
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


@contextmanager
def generators_kept() -> Iterator[None]:
    """Give random generators back as they were: packages draw from them too, some when they are imported."""
    with ExitStack() as stack:
        stack.callback(random.setstate, random.getstate())
        stack.callback(np.random.set_state, np.random.get_state())  # noqa: NPY002 - the generator that others share
        if (torch := sys.modules.get("torch")) is not None:
            # without a list fork_rng initialises every CUDA device (torch 2), and warns where there are several
            on_cuda = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []
            stack.enter_context(torch.random.fork_rng(devices=on_cuda))
        yield


@contextmanager
def undisturbed(modules: Iterable[Any]) -> Iterator[None]:
    """Put modules into evaluation mode, and gradients off; afterwards modes are as before."""
    with ExitStack() as stack:
        if (torch := sys.modules.get("torch")) is not None:
            stack.enter_context(torch.no_grad())
        for module in modules:
            for part in module.modules():  # one by one: a frozen layer stays in evaluation mode
                stack.callback(setattr, part, "training", part.training)
            module.eval()
        yield
