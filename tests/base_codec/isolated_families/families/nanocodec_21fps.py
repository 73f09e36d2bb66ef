"""A small NanoCodec with the strides of the model with 21.5 frames a second, for which the package does not pad."""

from __future__ import annotations

from families.nanocodec import call, config_of, write

CODEC = "nanocodec_1.89k"
FILE = "nemo-nano-codec-22khz-1.89kbps-21.5fps.nemo"
CONFIG = config_of([2, 2, 4, 8, 8], 8, [8, 7, 6, 6])


def make(folder):  # noqa: ANN001, ANN201
    """Write the publisher's archive."""
    write(folder, FILE, CONFIG)


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound."""
    return call(folder, CONFIG, audio)
