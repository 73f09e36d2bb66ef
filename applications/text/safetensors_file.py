"""Read float32 tensors of a safetensors file with numpy alone: eight bytes of length, a JSON header, plain data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.errors import ApplicationError

Tensors = dict[str, NDArray[np.float32]]

MAX_HEADER_BYTES = 100_000_000
"""Limit of the format's own readers."""


class BadTensorFile(ApplicationError):
    """The file is no safetensors file, or a damaged one; the text says where."""


def read_safetensors(file: Path) -> Tensors:
    """Return the float32 tensors of ``file`` by name, memory-mapped; tensors of other types are left out.

    Raises BadTensorFile.
    """
    try:
        data: NDArray[np.uint8] = np.memmap(file, np.uint8, "r")
        size = int(data[:8].view("<u8")[0])
        if size > min(MAX_HEADER_BYTES, data.size - 8):
            raise BadTensorFile(
                f"{file.name}: its header is {size} bytes long and the file {data.size}; fetch it again"
            )
        header = json.loads(data[8 : 8 + size].tobytes())
        body = data[8 + size :]
        found = {name: _tensor(body, of) for name, of in header.items() if name != "__metadata__"}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise BadTensorFile(f"{file.name} cannot be read as safetensors: {error}; fetch it again") from error
    return {name: tensor for name, tensor in found.items() if tensor is not None}


def _tensor(body: NDArray[np.uint8], of: dict[str, Any]) -> NDArray[np.float32] | None:
    if of["dtype"] != "F32":
        return None
    start, end = of["data_offsets"]
    if not 0 <= start <= end <= body.size:
        raise ValueError(f"a tensor lies at bytes {start} to {end} of {body.size}")
    tensor: NDArray[np.float32] = body[start:end].view("<f4").reshape(of["shape"])
    return tensor
