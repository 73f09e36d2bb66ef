"""Networks that tests write: files for ONNX Runtime and for LiteRT, each with one operation, a piece of its input."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

FLOAT, INT64 = 1, 7
"""ONNX's numbers of two data types."""


def field(number: int, content: bytes | str | int) -> bytes:
    """Write a field of a protocol buffer: a number, or bytes with their length."""
    if isinstance(content, int):
        return _varint(number << 3) + _varint(content)
    raw = content.encode() if isinstance(content, str) else content
    return _varint(number << 3 | 2) + _varint(len(raw)) + raw


def _varint(value: int) -> bytes:
    return bytes([value & 127 | 128]) + _varint(value >> 7) if value > 127 else bytes([value])


def save_onnx(file: Path, taken: int, given: int, output: str = "embedding") -> Path:
    """Write a network that gives the first ``given`` of ``taken`` samples."""
    numbers = {"start": 0, "end": given, "axis": 1}
    stored = b"".join(
        field(5, field(1, 1) + field(2, INT64) + field(8, name) + field(9, struct.pack("<q", value)))
        for name, value in numbers.items()
    )
    node = b"".join(field(1, name) for name in ("inputs", *numbers)) + field(2, output) + field(4, "Slice")
    graph = field(1, node) + field(2, "piece") + stored + field(11, _value("inputs", taken)) + field(
        12, _value(output, given)
    )  # fmt: skip
    file.write_bytes(field(1, 8) + field(8, field(2, 13)) + field(7, graph))
    return file


def _value(name: str, size: int) -> bytes:
    """Write a ValueInfoProto of float32 ``(1, size)``."""
    shape = b"".join(field(1, field(1, length)) for length in (1, size))
    return field(1, name) + field(2, field(1, field(1, FLOAT) + field(2, shape)))


def save_tflite(file: Path, taken: int, given: int, output: str = "embedding") -> Path:
    """Write the same network for LiteRT, under the signature ``serving_default``."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    def tensor(name: str, shape: list[int], kind: int, buffer: int = 0) -> schema.TensorT:
        its = schema.TensorT()
        its.name, its.shape, its.type, its.buffer = name, shape, kind, buffer
        return its

    def buffer(*values: int) -> schema.BufferT:
        its = schema.BufferT()
        its.data = np.frombuffer(np.array(values, "<i4").tobytes(), np.uint8) if values else None
        return its

    def named(name: str, index: int) -> schema.TensorMapT:
        its = schema.TensorMapT()
        its.name, its.tensorIndex = name, index
        return its

    whole, piece = schema.TensorType.FLOAT32, schema.TensorType.INT32
    operator, code, graph, signature, model = (
        schema.OperatorT(), schema.OperatorCodeT(), schema.SubGraphT(), schema.SignatureDefT(), schema.ModelT()
    )  # fmt: skip
    operator.opcodeIndex, operator.inputs, operator.outputs = 0, [0, 1, 2], [3]
    operator.builtinOptionsType, operator.builtinOptions = schema.BuiltinOptions.SliceOptions, schema.SliceOptionsT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.SLICE
    graph.tensors = [
        tensor("inputs", [1, taken], whole), tensor("begin", [2], piece, 1), tensor("size", [2], piece, 2),
        tensor(output, [1, given], whole),
    ]  # fmt: skip
    graph.inputs, graph.outputs, graph.operators = [0], [3], [operator]
    signature.signatureKey, signature.subgraphIndex = "serving_default", 0
    signature.inputs, signature.outputs = [named("inputs", 0)], [named(output, 3)]
    model.version, model.operatorCodes, model.subgraphs = 3, [code], [graph]
    model.buffers, model.signatureDefs = [buffer(), buffer(0, 0), buffer(1, given)], [signature]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    file.write_bytes(bytes(builder.Output()))
    return file
