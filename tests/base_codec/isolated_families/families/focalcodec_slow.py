"""A small FocalCodec at a quarter of the frame rate."""

from __future__ import annotations

from families import focalcodec

CODEC = "focalcodec_12_5hz"
FILE = "model.safetensors"


def make(folder):  # noqa: ANN001, ANN201
    """Write config.json and model.safetensors."""
    focalcodec.make(folder, step=4)


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound."""
    return focalcodec.run(folder, audio, frame=4 * focalcodec.FRAME)
