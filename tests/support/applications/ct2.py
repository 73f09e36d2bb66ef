"""Read a Whisper checkpoint of CTranslate2, and make of it one that openai-whisper loads: the same weights exactly.

The file ``model.bin``, little-endian: version of the format (u32), name of the specification, its revision (u32), then
the number of variables (u32) and each one's name, number of dimensions (u8), dimensions (u32 each), type (u8), bytes
(u32) and values; then the number of aliases (u32), each a name and the variable that it stands for. A text is its
length with the final zero byte (u16), then its bytes. Types: float32, int8, int16, int32, float16, bfloat16.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from numpy.typing import NDArray

Variables = dict[str, NDArray[Any]]
_TYPES = (np.float32, np.int8, np.int16, np.int32, np.float16)
_BFLOAT16 = 5


def read_variables(file: Path) -> Variables:
    """Return the variables of ``model.bin`` by name; quantised ones in float32, scaled back."""
    with file.open("rb") as stream:
        version = _number(stream, "I")
        assert version == 6, f"expected version 6 of the format, got {version}"
        assert _text(stream) == "WhisperSpec"
        _number(stream, "I")
        variables = dict(_variable(stream) for _ in range(_number(stream, "I")))
        for _ in range(_number(stream, "I")):
            alias, name = _text(stream), _text(stream)
            variables[alias] = variables[name]
        assert not stream.read(1), "expected the end of the file"
    return _dequantised(variables)


def _number(stream: BinaryIO, kind: str) -> int:
    (value,) = struct.unpack(f"<{kind}", stream.read(struct.calcsize(kind)))
    assert isinstance(value, int)
    return value


def _text(stream: BinaryIO) -> str:
    return stream.read(_number(stream, "H")).rstrip(b"\0").decode()


def _variable(stream: BinaryIO) -> tuple[str, NDArray[Any]]:
    name = _text(stream)
    shape = [_number(stream, "I") for _ in range(_number(stream, "B"))]
    kind = _number(stream, "B")
    content = stream.read(_number(stream, "I"))
    if kind == _BFLOAT16:  # the upper half of a float32
        values = (np.frombuffer(content, np.uint16).astype(np.uint32) << 16).view(np.float32)
    else:
        values = np.frombuffer(content, _TYPES[kind])
    return name, values.reshape(shape)


def _dequantised(variables: Variables) -> Variables:
    """Divide what was quantised by its scales, one of each row."""
    found = {}
    for name, values in variables.items():
        scale = variables.get(f"{name}_scale")
        if scale is not None:
            rows = scale.astype(np.float32).reshape(-1, *[1] * (values.ndim - 1))
            found[name] = values.astype(np.float32) / rows
        elif not name.endswith("_scale"):
            found[name] = values
    return found


def openai_checkpoint(folder: Path) -> dict[str, Any]:
    """Return the checkpoint of openai-whisper (``dims``, ``model_state_dict``) with the weights in ``folder``."""
    variables = read_variables(folder / "model.bin")
    state = {
        theirs: torch.from_numpy(np.ascontiguousarray(part, np.float32))
        for name, values in variables.items()
        for theirs, part in _renamed(name, values)
    }
    return {"dims": _dimensions(variables), "model_state_dict": state}


def _renamed(name: str, values: NDArray[Any]) -> list[tuple[str, NDArray[Any]]]:
    """Return the tensors of openai-whisper that a variable holds: several where projections lie in one."""
    side, _, rest = name.partition("/")
    layer = re.fullmatch(r"layer_(\d+)/(\w+)/(\w+)/(\w+)", rest)
    if layer is None:
        key = _OUTSIDE.get(rest)
        if rest.startswith("layer_norm/"):
            key = f"{'ln_post' if side == 'encoder' else 'ln'}.{_PART[rest.rpartition('/')[2]]}"
        return [(f"{side}.{key}", values)] if key else []
    number, block, module, part = layer.groups()
    at = f"{side}.blocks.{number}.{_BLOCKS[block]}"
    part = _PART.get(part, part)
    if module == "layer_norm":
        return [(f"{at}_ln.{part}", values)]
    if block == "ffn":
        return [(f"{at}.{2 * int(module[-1])}.{part}", values)]
    projections = _PROJECTIONS[block][int(module[-1])]
    parts = np.split(values, len(projections))
    for projection, its in zip(projections, parts, strict=True):
        assert projection != "key" or part == "weight" or not its.any(), "keys of Whisper have no bias"
    return [
        (f"{at}.{projection}.{part}", its)
        for projection, its in zip(projections, parts, strict=True)
        if (projection, part) != ("key", "bias")
    ]


_BLOCKS = {"self_attention": "attn", "attention": "cross_attn", "ffn": "mlp"}
_PART = {"gamma": "weight", "beta": "bias"}
_PROJECTIONS = {
    "self_attention": (("query", "key", "value"), ("out",)),
    "attention": (("query",), ("key", "value"), ("out",)),
}
"""What lies in each linear layer of a block, one below the other."""
_OUTSIDE = {
    "position_encodings/encodings": "positional_embedding",
    "embeddings/weight": "token_embedding.weight",
    **{f"conv{n}/{part}": f"conv{n}.{part}" for n in (1, 2) for part in ("weight", "bias")},
}


def _dimensions(variables: Variables) -> dict[str, int]:
    """Return the dimensions that openai-whisper wants to know beside the weights."""
    audio_context, audio_state = variables["encoder/position_encodings/encodings"].shape
    text_context, text_state = variables["decoder/position_encodings/encodings"].shape
    layers = {
        side: len(
            {name.split("/")[1] for name in variables if name.startswith(f"{side}/layer_") and name.count("/") > 2}
        )
        for side in ("encoder", "decoder")
    }
    return {
        "n_mels": variables["encoder/conv1/weight"].shape[1],
        "n_audio_ctx": audio_context,
        "n_audio_state": audio_state,
        "n_audio_head": int(variables["encoder/num_heads"]),
        "n_audio_layer": layers["encoder"],
        "n_vocab": variables["decoder/embeddings/weight"].shape[0],
        "n_text_ctx": text_context,
        "n_text_state": text_state,
        "n_text_head": int(variables["decoder/num_heads"]),
        "n_text_layer": layers["decoder"],
    }
