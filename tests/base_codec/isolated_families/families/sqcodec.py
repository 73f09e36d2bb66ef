"""SQ-Codec at its own size, which is small; a model of plain blocks."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch

CODEC = "sqcodec_16k_3kbps"
FILE = "quantizer.pt"


def make_model(folder, name):  # noqa: ANN001, ANN201
    """Write a file of parameters for each part of the model ``name``."""
    import sq_codec

    codec = sq_codec.SQCodec(sq_codec.SQCodecConfig(config_file=sq_codec.CONFIG_DIR / f"{name}.toml"))
    for part, module in codec.network.trainable_modules.items():
        torch.save(module.state_dict(), folder / f"{part}.pt")


def run_model(folder, audio, name):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound; it looks for its files in a folder of its own."""
    import sq_codec

    with tempfile.TemporaryDirectory() as cache:
        (Path(cache) / f"{name}.v0").symlink_to(folder)
        codec = sq_codec.get_model(name, model_dir=cache)
    codec.network.eval()
    features, tokens = codec.encode_audio(audio)
    return tokens, codec.decode_audio(features)


def make(folder):  # noqa: ANN001, ANN201
    """Write the five files of the model for 3 kbps."""
    make_model(folder, "3kbps")


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound."""
    return run_model(folder, audio, "3kbps")
