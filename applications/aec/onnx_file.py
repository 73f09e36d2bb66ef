"""What ONNX Runtime does not offer on an ONNX file: its scalar tensors, and tensors inside of it as further outputs.

The scalars are the scales of a model whose inputs and outputs are quantised. An ONNX file is a protocol buffer; of its
wire format these few facts are needed: a field is a key (number x 8 + kind) and a value; kind 0 is a variable-length
integer, 1 is 8 bytes, 2 is a length and that many bytes, 5 is 4 bytes; a message that comes twice is merged, so what is
appended to a file adds to it. Field numbers are those of ``onnx.proto``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_GRAPH = 7
"""Of ModelProto."""
_NODE, _INITIALIZER, _OUTPUT = 1, 5, 12
"""Of GraphProto."""
_NODE_OUTPUT, _OPERATION = 2, 4
"""Of NodeProto."""
_VALUE_NAME = 1
"""Of ValueInfoProto, whose type ONNX Runtime infers."""
_DATA_TYPE, _NAME, _RAW = 2, 8, 9
"""Of TensorProto."""
# TensorProto.DataType of onnx.proto: 1 FLOAT, 2 UINT8, 3 INT8, 4 UINT16, 5 INT16, 6 INT32.
_FORMATS = {1: "<f", 2: "<B", 3: "<b", 4: "<H", 5: "<h", 6: "<i"}
"""TensorProto's number of a data type -> how struct calls it."""


def read_scalars(model: bytes) -> dict[str, float]:
    """Return the single numbers among the stored tensors of an ONNX file, by name.

    Raises ValueError for bytes that are no protocol buffer.
    """
    found: dict[str, float] = {}
    for graph in _of(model, _GRAPH):
        for tensor in _of(graph, _INITIALIZER):
            parts = dict(_fields(tensor))
            name, raw, kind = parts.get(_NAME), parts.get(_RAW), parts.get(_DATA_TYPE)
            layout = _FORMATS.get(kind) if isinstance(kind, int) else None
            if isinstance(name, bytes) and isinstance(raw, bytes) and layout and len(raw) == struct.calcsize(layout):
                found[name.decode()] = float(struct.unpack(layout, raw)[0])
    return found


def results_of(model: bytes, operation: str) -> list[str]:
    """Return the names of the tensors that the nodes of an operation (``GlobalAveragePool``) give, in order.

    Raises ValueError for bytes that are no protocol buffer.
    """
    found = []
    for graph in _of(model, _GRAPH):
        for node in _of(graph, _NODE):
            parts = list(_fields(node))
            if (_OPERATION, operation.encode()) in parts:
                found += [name.decode() for key, name in parts if key == _NODE_OUTPUT and isinstance(name, bytes)]
    return found


def with_output(model: bytes, name: str) -> bytes:
    """Return an ONNX file that gives the tensor ``name`` too, after its own outputs."""
    return model + _field(_GRAPH, _field(_OUTPUT, _field(_VALUE_NAME, name.encode())))


def _field(number: int, content: bytes) -> bytes:
    """Write a field of kind 2."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    """Write a variable-length integer: seven bits a byte, the lowest first."""
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + _varint(rest) if rest else bytes([low])


def _of(message: bytes, number: int) -> Iterator[bytes]:
    return (value for key, value in _fields(message) if key == number and isinstance(value, bytes))


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    place = 0
    while place < len(message):
        key, place = _integer(message, place)
        # A key of Protocol Buffers: field number and wire type (0 varint, 1 eight bytes, 2 length-delimited, 5 four
        # bytes).
        kind = key & 7
        if kind == 0:
            value, place = _integer(message, place)
            yield key >> 3, value
            continue
        if kind == 2:  # noqa: PLR2004 -- the wire format's number of bytes with their length
            length, place = _integer(message, place)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError(f"no ONNX file: a field of kind {kind} at byte {place}")
        if place + length > len(message):
            raise ValueError(f"no ONNX file, or a part of one: {length} bytes expected at byte {place}")
        yield key >> 3, message[place : place + length]
        place += length


def _integer(message: bytes, place: int) -> tuple[int, int]:
    """Return the variable-length integer at ``place`` and where it ends."""
    value = shift = 0
    while place < len(message):
        byte = message[place]
        value |= (byte & 127) << shift
        place += 1
        if byte < 128:  # noqa: PLR2004 -- the highest bit says that more follow
            return value, place
        shift += 7
    raise ValueError(f"no ONNX file, or a part of one: it ends within a number at byte {place}")
