"""SemantiCodec at its own size, since its package builds no other, with two steps of diffusion instead of fifty."""

from __future__ import annotations

from contextlib import chdir

import numpy as np
import torch

CODEC = "semanticodec_100tps_4k"
SETTINGS = {"steps": 2}
FILE = "semanticodec_tokenrate_100/encoder.ckpt"
RATE, ENTRIES = 100, 4096
PATCH = 2560


def around(latents, entries):  # noqa: ANN001, ANN201
    """Return a codebook of so many entries, each near one of the latents ``(frames, dimensions)``."""
    near = latents[torch.randint(len(latents), (entries,))]
    return near + 0.3 * latents.std(dim=0) * torch.randn(entries, latents.shape[1])


@torch.inference_mode()
def make(folder):  # noqa: ANN001, ANN201
    """Write encoder, decoder and the semantic codebook, both codebooks drawn around what the model makes of noise."""
    from semanticodec.config import get_config
    from semanticodec.modules.decoder.latent_diffusion.util import instantiate_from_config
    from semanticodec.modules.encoder.encoder import AudioMAEConditionQuantResEncoder
    from semanticodec.utils import extract_kaldi_fbank_feature

    config, place, width, layers, codebook = get_config(RATE, ENTRIES)
    (folder / codebook).parent.mkdir(parents=True)
    (folder / place).mkdir()
    np.save(folder / codebook, np.zeros((ENTRIES, width), dtype=np.float32))
    encoder = AudioMAEConditionQuantResEncoder(
        feature_dimension=width, lstm_layer=layers, centroid_npy_path=folder / codebook
    )
    features = extract_kaldi_fbank_feature(0.1 * torch.randn(1, 163840), 16000)["ta_kaldi_fbank"][None, None]
    heard = encoder.audiomae(features, no_mask=True, no_average=False)[0, 1:]
    encoder.centroid_npy = around(heard, ENTRIES)
    np.save(folder / codebook, encoder.centroid_npy.numpy())
    residual = []
    handle = encoder.quantizer.register_forward_pre_hook(lambda _, inputs: residual.append(inputs[0][0]))
    encoder(features[0])
    handle.remove()
    learnt = encoder.quantizer._codebook
    learnt.embed.copy_(around(residual[0], len(learnt.embed[0])))
    learnt.initted.fill_(1)
    torch.save(encoder.state_dict(), folder / FILE)
    decoder = instantiate_from_config(config["model"])
    for weight in decoder.model.parameters():
        if not weight.any():  # drawn as zeros, which make the diffusion deaf to tokens
            torch.nn.init.normal_(weight, std=0.05)
    torch.save(decoder.state_dict(), folder / place / "decoder.ckpt")


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound, with the guest's seed and without torchaudio's reader of files."""
    import torchaudio
    from semanticodec import SemantiCodec

    torchaudio.load = lambda _: (audio, 16000)
    with chdir(folder):
        codec = SemantiCodec(RATE, ENTRIES, ddim_sample_step=SETTINGS["steps"]).eval()
        tokens = codec.encode(FILE)
    assert audio.shape[1] % PATCH  # else the package codes one patch more
    torch.manual_seed(0)
    return tokens[0].T, codec.decode(tokens)[0]
