"""What a user may choose about a neural codec beside its name: weights, precision, compilation."""

from __future__ import annotations

from typing import Literal, NamedTuple

Dtype = Literal["float32", "bfloat16", "float16"]


class CodecOptions(NamedTuple):
    """Options of codecs that have trained weights; the others take none."""

    weights: str | None = None
    """A folder with ``config.json`` and ``model.safetensors`` (or one such folder for each model, named like the hub
    repository without its owner), or ``OWNER/REPOSITORY[@REVISION]`` on the hub; None takes the card's source. An
    isolated codec takes a folder, of what its guest looks for."""
    dtype: Dtype = "float32"
    """Precision of the model; what goes in and comes out is float32."""
    compile: bool = False
    """Whether the encoder and the decoder go through ``torch.compile``."""


DEFAULT_OPTIONS = CodecOptions()
