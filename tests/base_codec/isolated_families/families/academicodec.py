"""HiFi-Codec at its full size: what makes the model is on the card, so its tests take a minute."""

from __future__ import annotations

import json
from types import SimpleNamespace

import torch
from families.drawing import draw_codebooks

CODEC = "academicodec_hifi_24k_320d"
FILE = "HiFi-Codec-24k-320d"
CONFIG = {
    "resblock": "1", "upsample_rates": [8, 5, 4, 2], "upsample_kernel_sizes": [16, 11, 8, 4],
    "upsample_initial_channel": 512, "resblock_kernel_sizes": [3, 7, 11],
    "resblock_dilation_sizes": [[1, 3, 5], [1, 3, 5], [1, 3, 5]], "n_code_groups": 2, "n_codes": 1024,
    "codebook_loss_lambda": 1.0, "commitment_loss_lambda": 0.25,
}  # fmt: skip


def make(folder, config=CONFIG, file=FILE):  # noqa: ANN001, ANN201
    """Write the one checkpoint, and the config that the repository keeps in a folder of its own."""
    from academicodec.models.hificodec.models import Encoder, Generator, Quantizer

    facts = SimpleNamespace(**config)
    encoder, quantizer, generator = Encoder(facts).eval(), Quantizer(facts).eval(), Generator(facts).eval()
    for group in range(2):
        levels = (quantizer.quantizer_modules, quantizer.quantizer_modules2)
        codebooks = [modules[group].embedding.weight.data for modules in levels]
        draw_codebooks(codebooks, lambda audio, group=group: encoder(audio)[:, 256 * group : 256 * (group + 1)])
    for name, value in generator.named_parameters():
        if name.endswith("weight_g"):  # the repository starts with sound that is all but silent
            value.data.fill_(0.5)
    parts = {"encoder": encoder, "quantizer": quantizer, "generator": generator}
    torch.save({name: part.state_dict() for name, part in parts.items()}, folder / file)
    (folder / "config.json").write_text(json.dumps(config))


def run(folder, audio, file=FILE, frame=320):  # noqa: ANN001, ANN201
    """Return tokens and sound of the repository's class, for a clip that fills its last frame."""
    from academicodec.models.hificodec.vqvae import VQVAE

    model = VQVAE(str(folder / "config.json"), str(folder / file), with_encoder=True).eval()
    tokens = model.encode(torch.nn.functional.pad(audio, (0, -audio.shape[1] % frame)))
    return tokens[0].T, model(tokens)[0]
