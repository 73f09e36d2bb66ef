"""Read a checkpoint in PyTorch's serialisation from before version 1.6 into numpy arrays, without torch.

The file is five pickles (magic number, protocol, machine, the object with its tensors, keys of the storages) and then
each storage: its number of elements as int64, and the elements. A tensor is a view of a storage: offset, sizes and
strides, in elements. Source of the format: ``torch/serialization.py`` of PyTorch (``_legacy_save``).

A pickle can call whatever it names; here it may name five kinds of storage, the function that makes a tensor and
``OrderedDict``, and use only the operations that such a file needs. Everything else is refused before it is run.
"""

from __future__ import annotations

import pickle
import pickletools
from collections import OrderedDict
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.errors import ApplicationError

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001
_COUNT = np.dtype("<i8")
_TYPES = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "IntStorage": "<i4",
    "LongStorage": "<i8",
}
_OPERATIONS = (
    "PROTO STOP MARK NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 BINFLOAT BINUNICODE "
    "EMPTY_DICT EMPTY_LIST EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 SETITEM SETITEMS APPEND APPENDS "
    "BINPUT LONG_BINPUT BINGET LONG_BINGET GLOBAL REDUCE BUILD BINPERSID"
)
_PERMITTED = frozenset(_OPERATIONS.split())
_MOST_VALUES = 100_000
"""Values in a file at most: one that contains itself, or repeats references, would expand without end."""

Array = NDArray[Any]


class BadCheckpoint(ApplicationError):
    """The file is not a checkpoint of this format, or uses operations that such a file does not need."""


class _StorageType(NamedTuple):
    """Stands for ``torch.FloatStorage`` and similar types; immutable and not callable."""

    dtype: str


class _Storage(NamedTuple):
    """Stands for a storage whose elements follow after all pickles."""

    key: str
    dtype: str
    elements: int


class _Tensor(NamedTuple):
    """Stands for a tensor until the storages are read."""

    storage: _Storage
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]


class _MakeTensor:
    """Stands for ``torch._utils._rebuild_tensor_v2``; an instance without attributes that a pickle could change."""

    __slots__ = ()

    def __call__(self, storage: object, offset: object, size: object, stride: object, *_gradient: object) -> _Tensor:
        if not isinstance(storage, _Storage) or not _are_counts((offset,)):
            raise BadCheckpoint("expected a tensor of a storage and an offset into it")
        if not (_are_counts(size) and _are_counts(stride)):
            raise BadCheckpoint(f"expected sizes and strides of a tensor, got {size!r} and {stride!r}")
        return _Tensor(storage, int(offset), size, stride)  # type: ignore[call-overload, arg-type]  # they are counts


def _are_counts(values: object) -> bool:
    return isinstance(values, tuple) and all(isinstance(value, int) and value >= 0 for value in values)


class _Unpickler(pickle.Unpickler):
    """Finds nothing but stand-ins."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _MakeTensor()
        if module == "torch" and name in _TYPES:
            return _StorageType(_TYPES[name])
        raise BadCheckpoint(f"a checkpoint of tensors has no need of {module}.{name}; it is not read")

    def persistent_load(self, pid: Any) -> _Storage:
        match pid:
            case ("storage", _StorageType(dtype), str(key), str(), int(elements), None) if elements >= 0:
                return _Storage(key, dtype, elements)
        raise BadCheckpoint(f"expected a whole storage, got {pid!r:.200}")


def read_legacy_checkpoint(path: Path) -> dict[str, Any]:
    """Return the dictionary that the file holds, its tensors as arrays of their own memory.

    Nested dictionaries, lists and tuples are kept; an ``OrderedDict`` becomes a dictionary. Raises BadCheckpoint naming
    what was expected and what came.
    """
    content = path.read_bytes()
    try:
        return _read(content)
    except BadCheckpoint as error:
        raise BadCheckpoint(f"{path.name}: {error}") from error
    except Exception as error:  # damaged bytes can raise almost any exception in the unpickler
        raise BadCheckpoint(f"{path.name} is damaged or no checkpoint: {type(error).__name__}: {error}") from error


def _read(content: bytes) -> dict[str, Any]:
    stream = BytesIO(content)
    magic, protocol, machine = (_unpickle(stream) for _ in range(3))
    if magic != MAGIC or protocol != PROTOCOL:
        raise BadCheckpoint("expected PyTorch's format from before version 1.6, which begins with its magic number")
    if not isinstance(machine, dict) or machine.get("little_endian") is not True:
        raise BadCheckpoint("expected little-endian numbers")
    value, keys = _unpickle(stream), _unpickle(stream)
    if not isinstance(value, dict) or not isinstance(keys, list):
        raise BadCheckpoint(f"expected a dictionary and a list of storages, got {type(value).__name__}")
    arrays = _read_storages(content, stream.tell(), keys, _storages_of(value))
    found: dict[str, Any] = _filled(value, arrays)
    return found


def _unpickle(stream: BytesIO) -> Any:
    """Read one pickle, of permitted operations only."""
    start = stream.tell()
    for operation, argument, _ in pickletools.genops(stream):
        if operation.name not in _PERMITTED:
            raise BadCheckpoint(f"a checkpoint of tensors has no need of the operation {operation.name}")
        if (
            operation.name == "LONG_BINPUT" and (argument or 0) > stream.tell()
        ):  # the unpickler would allocate a memo of so many entries
            raise BadCheckpoint(f"no pickle of this length has {argument} entries")
    stream.seek(start)
    return _Unpickler(stream).load()


def _storages_of(value: Any) -> dict[str, _Storage]:
    """Gather the storages behind all tensors; one that is declared in two ways is refused."""
    storages: dict[str, _Storage] = {}
    left, seen = [value], 0
    while left:
        part = left.pop()
        seen += 1
        if isinstance(part, _Tensor):
            if storages.setdefault(part.storage.key, part.storage) != part.storage:
                raise BadCheckpoint(f"storage {part.storage.key} is declared in two ways")
        elif isinstance(part, (dict, list, tuple)):
            left.extend(part.values() if isinstance(part, dict) else part)
        if seen + len(left) > _MOST_VALUES:
            raise BadCheckpoint(f"expected at most {_MOST_VALUES} values, and no list that holds itself")
    return storages


def _read_storages(content: bytes, position: int, keys: list[Any], declared: dict[str, _Storage]) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    for key in keys:
        if key not in declared:
            raise BadCheckpoint(f"storage {key!r} belongs to no tensor")
        storage = declared[key]
        dtype = np.dtype(storage.dtype)
        (elements,) = np.frombuffer(content, _COUNT, 1, position)
        if elements != storage.elements:
            raise BadCheckpoint(f"storage {key}: expected {storage.elements} elements, got {elements}")
        position += _COUNT.itemsize
        arrays[key] = np.frombuffer(content, dtype, storage.elements, position)
        position += storage.elements * dtype.itemsize
    return arrays


def _filled(value: Any, arrays: dict[str, Array]) -> Any:
    """Return ``value`` with arrays for the stand-ins of tensors."""
    if isinstance(value, _Tensor):
        return _view(value, arrays)
    if isinstance(value, dict):
        return {key: _filled(part, arrays) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_filled(part, arrays) for part in value)
    return value


def _view(tensor: _Tensor, arrays: dict[str, Array]) -> Array:
    """Cut a tensor out of its storage. Raises BadCheckpoint where it would reach beyond."""
    if tensor.storage.key not in arrays:
        raise BadCheckpoint(f"storage {tensor.storage.key} is not in the file")
    array = arrays[tensor.storage.key]
    if len(tensor.size) != len(tensor.stride) or prod(tensor.size) > array.size:
        raise BadCheckpoint(f"a tensor of size {tensor.size} is no view of {array.size} elements")
    last = tensor.offset + sum((size - 1) * step for size, step in zip(tensor.size, tensor.stride, strict=True))
    if prod(tensor.size) and last >= array.size:
        raise BadCheckpoint(f"a tensor reaches element {last} of a storage of {array.size}")
    if not prod(tensor.size):
        return np.zeros(tensor.size, array.dtype)
    strides = tuple(step * array.itemsize for step in tensor.stride)
    return np.lib.stride_tricks.as_strided(array[tensor.offset :], tensor.size, strides).copy()
