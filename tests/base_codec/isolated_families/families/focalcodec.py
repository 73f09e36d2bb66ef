"""A small FocalCodec."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import torch

CODEC = "focalcodec_50hz"
FILE = "model.safetensors"
ENCODER = {
    "hidden_dims": [32] * 7, "num_layers": 2, "dim": 48, "ffn_dim": 64, "num_heads": 4, "max_cached_steps": 512,
    "conv_pos": 16, "conv_pos_groups": 4,
}  # fmt: skip
COMPRESSOR = {"input_dim": 48, "output_dim": 13, "hidden_dims": [48, 32, 32]}
DECOMPRESSOR = {"input_dim": 13, "output_dim": 48, "hidden_dims": [32, 32, 48]}
FRAME = 320
SEEN = 400
"""Samples at 16 kHz that a frame of WavLM looks at."""


def make(folder, step=1):  # noqa: ANN001, ANN201
    """Write config.json and model.safetensors; its first downscaling and last upscaling are ``step``."""
    config = {
        "encoder_name": "WavLM", "encoder_config": ENCODER, "compressor_name": "FocalEncoder",
        "compressor_config": {**COMPRESSOR, "downscale_factors": [step, 1, 1]},
        "quantizer_name": "BinarySphericalQuantizer", "quantizer_config": {"codebook_size": 8192},
        "decompressor_name": "FocalDecoder",
        "decompressor_config": {**DECOMPRESSOR, "upscale_factors": [1, 1, step]}, "decoder_name": "Vocos",
        "decoder_config": {"input_dim": 48, "num_layers": 2, "dim": 32, "ffn_dim": 64},
    }  # fmt: skip
    write(folder, config)


def write(folder, config):  # noqa: ANN001, ANN201
    """Save a model of ``config`` as the publisher names its files."""
    from focalcodec import FocalCodec
    from safetensors.torch import save_file

    model = FocalCodec(**config).eval()
    with torch.inference_mode():  # digits are signs: what all frames have in common is taken away
        common = model.compressor(model.encoder(0.1 * torch.randn(1, 48000))[0])[0].mean(dim=(0, 1))
        model.compressor.out_proj.bias -= common
    (folder / "config.json").write_text(json.dumps(config))
    save_file(model.state_dict(), folder / "model.safetensors")


def opened(folder):  # noqa: ANN001, ANN201
    """Return the package's model; its own loader wants both files under one name."""
    from focalcodec import FocalCodec

    with tempfile.TemporaryDirectory() as name:
        for own, published in (("model.json", "config.json"), ("model.safetensors", "model.safetensors")):
            (Path(name) / own).symlink_to(folder / published)
        return FocalCodec.from_pretrained(f"{name}/model.json").eval()


def run(folder, audio, frame=FRAME):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound; it codes whole frames alone, so the last one is filled."""
    model = opened(folder)
    silence = torch.zeros(1, -audio.shape[1] % frame + SEEN - FRAME)
    tokens = model.sig_to_toks(torch.cat([audio, silence], dim=1))
    return tokens, model.toks_to_sig(tokens)
