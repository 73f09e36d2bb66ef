"""Options of a codec beside its name: weights, precision and compilation, a declared bitrate, a found delay."""

from __future__ import annotations

from typing import Literal, NamedTuple

Dtype = Literal["float32", "bfloat16", "float16"]


class CodecOptions(NamedTuple):
    """Options of codecs with trained weights, and what a codec of a user's own leaves open; other codecs have none."""

    weights: str | None = None
    """A folder with ``config.json`` and ``model.safetensors`` (or one such folder for each model, named like the codec,
    its family, or the hub repository without its owner), or ``OWNER/REPOSITORY[@REVISION]`` on the hub; None takes what
    is below ``$CODEC_SUPERB_WEIGHTS``, else the card's source. An isolated codec and one whose card lists files accept
    only a folder, with the files that they read."""
    dtype: Dtype = "float32"
    """Precision of the model; input and output are float32."""
    compile: bool = False
    """Whether encoder and decoder are compiled with ``torch.compile``."""
    kbps: float | None = None
    """Declared bitrate of a codec that does not count its bits."""
    delay: int | float | None = None
    """Delay in samples that a run found, of a codec that states none; not an option of users."""


DEFAULT_OPTIONS = CodecOptions()
