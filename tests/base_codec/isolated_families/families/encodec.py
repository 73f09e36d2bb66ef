"""The EnCodec of its own package; it has one size."""

from __future__ import annotations

import torch
from families.drawing import draw_codebooks

CODEC = "encodec_original_24k_6k"
FILE = "encodec_24khz-d7cc33bc.th"


def make(folder):  # noqa: ANN001, ANN201
    """Write the one checkpoint; codebooks are zeros until they are trained, so they are drawn as the latents lie."""
    from encodec import EncodecModel

    model = EncodecModel.encodec_model_24khz(pretrained=False)
    draw_codebooks([layer._codebook.embed for layer in model.quantizer.vq.layers], model.encoder)
    state = model.state_dict()
    for name, value in state.items():
        if name.endswith(".inited"):
            value.fill_(1)
    torch.save(state, folder / "encodec_24khz-d7cc33bc.th")


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound at 6 kbps."""
    from encodec import EncodecModel

    model = EncodecModel.encodec_model_24khz(pretrained=False)
    model.load_state_dict(torch.load(folder / "encodec_24khz-d7cc33bc.th"))
    model.set_target_bandwidth(6.0)
    frames = model.encode(audio[None])
    return frames[0][0][0], model.decode(frames)[0]
