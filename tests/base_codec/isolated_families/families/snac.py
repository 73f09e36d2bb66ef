"""A small SNAC."""

from __future__ import annotations

import json

import numpy as np
import torch

CODEC = "snac_24k"
FILE = "pytorch_model.bin"
CONFIG = {
    "sampling_rate": 24000, "encoder_dim": 8, "encoder_rates": [2, 4, 8, 8], "decoder_dim": 64,
    "decoder_rates": [8, 8, 4, 2], "attn_window_size": None, "codebook_size": 4096, "codebook_dim": 8,
    "vq_strides": [4, 2, 1], "noise": True, "depthwise": True,
}  # fmt: skip


def make(folder):  # noqa: ANN001, ANN201
    """Write config.json and pytorch_model.bin."""
    from snac import SNAC

    (folder / "config.json").write_text(json.dumps(CONFIG))
    torch.save(SNAC(**CONFIG).state_dict(), folder / "pytorch_model.bin")


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens, those of one coarse frame in a column, and its sound."""
    from snac import SNAC

    model = SNAC.from_pretrained(str(folder))
    codes = model.encode(audio[None])
    torch.manual_seed(0)
    rows = [code[0].numpy().reshape(-1, 2**level).T for level, code in enumerate(codes)]
    return np.concatenate(rows), model.decode(codes)[0]
