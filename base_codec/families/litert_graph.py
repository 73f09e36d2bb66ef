"""Count the operations of a LiteRT model from its graph: shapes of its operators, each of which runs once a call."""

from __future__ import annotations

import re
from math import prod
from typing import Any

from codec_superb.base_codec.counting import Counted

BACKEND = "graph of the LiteRT model"
_PRODUCT = re.compile(r"CONV|FULLY_CONNECTED|MATMUL|LSTM|RNN|WHILE|^IF$|CUSTOM|SVDF")
"""Operators that multiply matrices, or run others."""


def operations_of(interpreter: Any) -> Counted:
    """Count a call of the first graph of an interpreter with allocated tensors; a multiply-add is two.

    Counted are convolutions and fully connected layers; other operators that multiply are named.
    """
    shapes = {detail["index"]: tuple(map(int, detail["shape"])) for detail in interpreter.get_tensor_details()}
    total, unseen = 0, set()
    for operator in interpreter._get_ops_details():  # noqa: SLF001 - LiteRT shows its graph nowhere else
        name = operator["op_name"]
        if not _PRODUCT.search(name):
            continue
        found = _operator(name, [shapes.get(index, ()) for index in (*operator["inputs"], *operator["outputs"])])
        total += found or 0
        if found is None:
            unseen.add(name)
    if not total:
        return Counted(None, BACKEND, reason="its graph has no convolution and no fully connected layer")
    return Counted(total, BACKEND, tuple(sorted(unseen)))


def _operator(name: str, shapes: list[tuple[int, ...]]) -> int | None:
    """Operations of one operator, from its inputs and then its outputs; None for one without a formula.

    Layouts as in TensorFlow Lite's schema: sound (1, height, width, in), weights (out, height, width, in), those of a
    convolution of each channel by itself (1, height, width, channels).
    """
    if name == "CONV_2D":  # weights of a convolution in groups have only the inputs of one group
        return 2 * prod(shapes[-1]) * prod(shapes[1][1:])
    if name == "DEPTHWISE_CONV_2D":
        return 2 * prod(shapes[-1]) * prod(shapes[1][1:3])
    if name == "TRANSPOSE_CONV":  # inputs: shape of the output, weights, sound
        return 2 * prod(shapes[2]) * prod(shapes[1][:3])
    if name == "FULLY_CONNECTED":  # weights (out, in)
        return 2 * prod(shapes[-1]) * shapes[1][-1]
    return None
