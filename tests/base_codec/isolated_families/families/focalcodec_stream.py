"""A small FocalCodec-Stream, which hears 16 kHz and speaks 24 kHz."""

from __future__ import annotations

import torch
from families import focalcodec

CODEC = "focalcodec_50hz_4k_causal"
FILE = "model.safetensors"
NEAR = {"causal": True, "window_size": 2, "focal_window": 2, "focal_factor": 1}
"""Random weights look back as far as they can, so all windows are short."""
CONFIG = {
    "encoder_config": {**focalcodec.ENCODER, "causal": True, "window_size": 8, "conv_pos": 4},
    "compressor_config": {**focalcodec.COMPRESSOR, **NEAR, "output_dim": 12},
    "quantizer_config": {"codebook_size": 4096},
    "decompressor_config": {**focalcodec.DECOMPRESSOR, **NEAR, "input_dim": 12, "last_window_size": 2},
    "decoder_config": {"input_dim": 48, "num_layers": 2, "dim": 32, "ffn_dim": 64, "kernel_size": 3, "causal": True},
}


def make(folder):  # noqa: ANN001, ANN201
    """Write config.json and model.safetensors."""
    focalcodec.write(folder, CONFIG)


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound of audio at 24 kHz, whose last frame is filled."""
    import soxr

    whole = torch.nn.functional.pad(audio, (0, -audio.shape[1] % 480))
    heard = torch.from_numpy(soxr.resample(whole[0].numpy(), 24000, 16000, quality="VHQ"))[None]
    model = focalcodec.opened(folder)
    tokens = model.sig_to_toks(heard)
    return tokens, model.toks_to_sig(tokens)
