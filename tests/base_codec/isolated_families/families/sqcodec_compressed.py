"""SQ-Codec at its own size, which is small; a model whose attention shortens the frames as well."""

from __future__ import annotations

from families import sqcodec

CODEC = "sqcodec_16k_0k75bps"
FILE = "en_encoder.pt"


def make(folder):  # noqa: ANN001, ANN201
    """Write the five files of the model for 0.75 kbps."""
    sqcodec.make_model(folder, "0k75bps")


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound."""
    return sqcodec.run_model(folder, audio, "0k75bps")
