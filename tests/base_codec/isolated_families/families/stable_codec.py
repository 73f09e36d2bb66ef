"""A small Stable Codec: two transformer layers at each end, windows of 0.3 s."""

from __future__ import annotations

import json

import numpy as np
import torch

CODEC = "stable_codec_700bps"
FILE = "model.safetensors"
TRANSFORMER = {
    "channels": 128, "latent_dim": 6, "c_mults": [1], "strides": [2], "transformer_depths": [2],
    "sliding_window": [7, 8],
}  # fmt: skip
CONFIG = {
    "model_type": "autoencoder",
    "sample_rate": 16000,
    "sample_size": 32000,
    "audio_channels": 1,
    "model": {
        "encoder": {"type": "taae", "config": {**TRANSFORMER, "in_channels": 320}},
        "decoder": {"type": "taae", "config": {**TRANSFORMER, "out_channels": 320}},
        "bottleneck": {"type": "dithered_fsq", "config": {"dim": 6, "levels": 17}},
        "pretransform": {"type": "patched", "config": {"patch_size": 320, "channels": 1}},
        "latent_dim": 6,
        "downsampling_ratio": 640,
        "io_channels": 1,
    },
}


def flash_attention(q, k, v, causal, window_size):  # noqa: ANN001, ANN201
    """Do what flash-attn documents, the whole matrix at once: the package has no windows without it."""
    assert not causal
    frames = torch.arange(q.shape[1])
    distance = frames[None] - frames[:, None]
    scores = torch.einsum("bihd,bjhd->bhij", q.float(), k.float()) / q.shape[-1] ** 0.5
    scores[:, :, (distance < -window_size[0]) | (distance > window_size[1])] = -torch.inf
    return torch.einsum("bhij,bjhd->bihd", scores.softmax(dim=-1), v.float())


def with_windows(codec):  # noqa: ANN001, ANN201
    """Let a model of the package believe that flash-attn is there."""
    from stable_audio_tools.models import transformer

    transformer.flash_attn_func = flash_attention
    for module in codec.model.modules():
        if isinstance(module, transformer.Attention):
            module.use_fa_flash = True
    return codec


def make(folder):  # noqa: ANN001, ANN201
    """Write model_config.json and model.safetensors; the encoder's last layer is set so that the lattice is used."""
    from safetensors.torch import save_file
    from stable_codec import StableCodec

    (folder / "model_config.json").write_text(json.dumps(CONFIG))
    model = with_windows(StableCodec(str(folder / "model_config.json"))).model
    with torch.no_grad():
        for name, value in model.named_parameters():
            if name.endswith("scale"):  # what a layer adds, a hundredth before training
                value.fill_(0.3)
        last = model.encoder.layers[-1]
        latents = model.encode(0.1 * torch.randn(1, 1, 50 * 640), skip_bottleneck=True)[0]
        last.weight_g.div_(latents.std(dim=1)[:, None, None])
        last.bias.sub_(latents.mean(dim=1)).div_(latents.std(dim=1))
    save_file(model.state_dict(), folder / "model.safetensors")


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound at 700 bit/s."""
    from stable_codec import StableCodec

    codec = with_windows(StableCodec(str(folder / "model_config.json"), str(folder / "model.safetensors")))
    codec.set_posthoc_bottleneck("2x15625_700bps")
    sound = codec.model.preprocess_audio_for_encoder(audio, 16000)
    tokens = codec.encode(sound, posthoc_bottleneck=True)[1]
    return np.stack([stage[0, :, 0] for stage in tokens]), codec.decode(tokens, posthoc_bottleneck=True)[0]
