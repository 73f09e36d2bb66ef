"""A small SpeechTokenizer."""

from __future__ import annotations

import json

import torch
from families.drawing import draw_codebooks

CODEC = "speechtokenizer_4k"
FILE = "SpeechTokenizer.pt"
CONFIG = {
    "sample_rate": 16000, "n_q": 8, "dimension": 64, "semantic_dimension": 32, "n_filters": 8, "strides": [8, 5, 4, 2],
    "lstm_layers": 2, "bidirectional": True, "dilation_base": 2, "residual_kernel_size": 3, "n_residual_layers": 1,
    "activation": "ELU", "codebook_size": 1024,
}  # fmt: skip


def make(folder, config=CONFIG, checkpoint=FILE):  # noqa: ANN001, ANN201
    """Write config.json and the checkpoint."""
    from speechtokenizer import SpeechTokenizer

    model = SpeechTokenizer(config).eval()
    draw_codebooks([layer._codebook.embed for layer in model.quantizer.vq.layers], model.encoder)
    (folder / "config.json").write_text(json.dumps(config))
    torch.save(model.state_dict(), folder / checkpoint)


def run(folder, audio, checkpoint=FILE):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound."""
    from speechtokenizer import SpeechTokenizer

    files = (str(folder / "config.json"), str(folder / checkpoint))
    model = SpeechTokenizer.load_from_checkpoint(*files).eval()
    codes = model.encode(audio[None])
    return codes[:, 0], model.decode(codes)[0]
