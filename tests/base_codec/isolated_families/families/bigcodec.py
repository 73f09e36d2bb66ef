"""A small BigCodec, with its parameters under the names of its authors' checkpoint."""

from __future__ import annotations

import torch
from families.drawing import draw_codebooks

CODEC = "bigcodec_1k"
FILE = "bigcodec.pt"
WIDTH, FEATURES, FIRST = 2, 32, 64


def models():  # noqa: ANN201
    """Return encoder and decoder as the package makes them, but for their widths."""
    from bigcodec import CodecDecoder, CodecEncoder

    decoder = CodecDecoder(in_channels=FEATURES, upsample_initial_channel=FIRST, vq_dim=FEATURES)
    return CodecEncoder(ngf=WIDTH, out_channels=FEATURES).eval(), decoder.eval()


def published(model):  # noqa: ANN001, ANN201
    """Return parameters named as the authors' code, with PyTorch's older normalisation of weights, names them."""
    older = {"parametrizations.weight.original0": "weight_g", "parametrizations.weight.original1": "weight_v"}
    state = {}
    for name, value in model.state_dict().items():
        path, _, last = name.partition("parametrizations.")
        state[path + older["parametrizations." + last] if last else name] = value
    return state


def make(folder):  # noqa: ANN001, ANN201
    """Write bigcodec.pt: encoder and generator."""
    encoder, decoder = models()
    (layer,) = decoder.quantizer.layers

    def projected(sound):  # noqa: ANN001, ANN202
        return layer.in_proj(encoder(sound).transpose(1, 2)).transpose(1, 2)

    draw_codebooks([layer.codebook.weight.data], projected)
    torch.save({"CodecEnc": published(encoder), "generator": published(decoder)}, folder / "bigcodec.pt")


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return tokens and sound as the authors' own script computes them, with the package's modules."""
    encoder, decoder = models()
    stored = torch.load(folder / "bigcodec.pt")
    encoder.load_state_dict(stored["CodecEnc"])
    decoder.load_state_dict(stored["generator"])
    padded = torch.nn.functional.pad(audio[None], (0, -audio.shape[1] % 200))
    features, tokens, _ = decoder(encoder(padded), vq=True)
    return tokens[:, 0], decoder(features, vq=False)[0]
