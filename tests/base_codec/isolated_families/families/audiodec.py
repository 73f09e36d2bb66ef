"""A small AudioDec with its vocoder; made and called with the repository's own classes."""

from __future__ import annotations

import os

import numpy as np
import torch
from families.drawing import draw_codebooks

CODEC = "audiodec_24k_320d"
FILE = "vocoder/AudioDec_v1_symAD_libritts_24000_hop300_clean/checkpoint-500000steps.pkl"
LOOKS_AT_ONSET = True  # the vocoder's causal filters reach back 0.3 s, and random ones do so evenly
AUTOENCODER = "autoencoder/symAD_libritts_24000_hop300/checkpoint-500000steps.pkl"
STATISTICS = "statistics.npy"
ENCODING = {
    "bias": True, "code_dim": 64, "codebook_num": 8, "codebook_size": 1024, "codec": "audiodec", "encode_channels": 4,
    "decode_channels": 4, "enc_ratios": [2, 4, 8, 16], "dec_ratios": [16, 8, 4, 2], "enc_strides": [3, 4, 5, 5],
    "dec_strides": [5, 5, 4, 3], "input_channels": 1, "output_channels": 1, "mode": "causal", "projector": "conv1d",
    "quantier": "residual_vq",
}  # fmt: skip
SPEAKING = {
    "bias": True, "channels": 32, "groups": 3, "in_channels": 64, "kernel_size": 7, "out_channels": 1,
    "nonlinear_activation": "LeakyReLU", "nonlinear_activation_params": {"negative_slope": 0.1},
    "resblock_dilations": [[1, 3, 5]], "resblock_kernel_sizes": [11], "upsample_kernel_sizes": [10, 10, 8, 6],
    "upsample_scales": [5, 5, 4, 3], "use_additional_convs": True, "use_weight_norm": True, "stats": STATISTICS,
}  # fmt: skip


def write(file, kind, rate, facts, model):  # noqa: ANN001, ANN201
    """Write a checkpoint and the config beside it, as the repository's trainer does."""
    import yaml

    file.parent.mkdir(parents=True)
    config = {"model_type": kind, "sampling_rate": rate, "generator_params": facts}
    (file.parent / "config.yml").write_text(yaml.safe_dump(config))
    torch.save({"model": {"generator": model.state_dict()}, "steps": 500000}, file)


def make(folder, rate=24000, autoencoder=AUTOENCODER, vocoder=FILE):  # noqa: ANN001, ANN201
    """Write both models; their convolutions are drawn at the scale at which sound passes through them."""
    from models.autoencoder.AudioDec import StreamGenerator as Autoencoder
    from models.vocoder.HiFiGAN import StreamGenerator as Vocoder

    os.chdir(folder)
    model = Autoencoder(**ENCODING).eval()
    codebooks = [layer.embed.T for layer in model.quantizer.codebook.layers]
    draw_codebooks(codebooks, lambda audio: model.projector(model.encoder(audio)))
    np.save(STATISTICS, np.stack([np.zeros(64), 0.1 * np.ones(64)]).astype(np.float32))
    speaker = Vocoder(**SPEAKING).eval()
    for name, value in speaker.named_parameters():
        if name.endswith("weight_g"):  # the repository starts with sound that is all but silent
            value.data.fill_(1.0)
    write(folder / autoencoder, "symAudioDec", rate, ENCODING, model)
    write(folder / vocoder, "HiFiGAN", rate, SPEAKING, speaker)


def run(folder, audio, autoencoder=AUTOENCODER, vocoder=FILE):  # noqa: ANN001, ANN201
    """Return tokens and sound as the repository's demo for files makes them."""
    from utils.audiodec import AudioDec

    os.chdir(folder)  # the config names the file of statistics
    codec = AudioDec()
    codec.load_transmitter(str(folder / autoencoder))
    codec.load_receiver(str(folder / autoencoder), str(folder / vocoder))
    tokens = codec.tx_encoder.quantize(codec.tx_encoder.encode(audio[None]))
    sound = codec.decoder.decode(codec.rx_encoder.lookup(tokens))
    return tokens - 1024 * torch.arange(8)[:, None], sound[0]
