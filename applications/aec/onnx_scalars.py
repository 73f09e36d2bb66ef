"""Reads scalar tensors of an ONNX file: the scales of a model whose inputs and outputs are quantised.

ONNX Runtime does not expose them. An ONNX file is a protocol buffer; of its wire format these few
facts are needed: a field is a key (number x 8 + kind) and a value; kind 0 is a variable-length integer, 1 is 8 bytes,
2 is a length and that many bytes, 5 is 4 bytes. Field numbers are those of ``onnx.proto``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_GRAPH = 7
"""Of ModelProto."""
_INITIALIZER = 5
"""Of GraphProto."""
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
