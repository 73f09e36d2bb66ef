"""UniCodec in its full size, which its code fixes: 1 GB of random weights lies on the disk while its tests run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import ModuleType

import torch

CODEC = "unicodec_24k_music"
FILE = "unicode.ckpt"
MUSIC = "1"
NOT_INSTALLED = (
    "fairseq", "fairseq.dataclass", "fairseq.data.data_utils", "fairseq.modules", "fairseq.models.wav2vec.wav2vec2",
)  # fmt: skip


class Anything:
    """What the encoder takes from fairseq when it is imported, and never calls to code."""

    def __init__(self, *_values):  # noqa: ANN002, ANN204
        pass

    get_available_activation_fns = staticmethod(list)


def package():  # noqa: ANN201
    """Return the class of the model, and the configuration that its repository has for the published weights."""
    for name in NOT_INSTALLED:
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__getattr__ = lambda _: Anything
    from unicodec.decoder import pretrained

    # The repository has three configurations; the guest, like its notebook, takes the one of the finetuned weights.
    (config,) = (Path(pretrained.__file__).parents[2] / "configs").glob("*finetune.yaml")
    return pretrained.Unicodec, str(config)


def make(folder):  # noqa: ANN001, ANN201
    """Write unicode.ckpt as a training leaves it: with parameters of another network, and what is no number."""
    unicodec, config = package()
    model = unicodec.from_hparams0802(config).eval()
    encodec = model.feature_extractor.encodec
    for name, value in encodec.encoder.named_parameters():
        if "FFNMOE" in name:  # left as the memory was
            torch.nn.init.normal_(value, std=value.shape[1] ** -0.5)
    with torch.inference_mode():
        latents = encodec.encoder(0.1 * torch.randn(1, 1, 48000))[2][0]
        projection = encodec.quantizer.vq.embedding_proj
        encodec.quantizer.vq.embedding.weight.normal_()
        projection.weight.copy_(torch.diag(latents.std(dim=1)))
        projection.bias.copy_(latents.mean(dim=1))
    state = {**model.state_dict(), "discriminator.weight": torch.zeros(3)}
    torch.save({"state_dict": state, "hyper_parameters": argparse.Namespace(seed=1)}, folder / FILE)


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound, as its notebook shows it."""
    unicodec, config = package()
    model = unicodec.from_hparams0802(config).eval()
    state = torch.load(folder / FILE, weights_only=False)["state_dict"]  # what make wrote
    state.pop("discriminator.weight")
    model.load_state_dict(state)
    bitrate = torch.tensor([0])
    _, tokens = model.encode_infer(audio, MUSIC, bandwidth_id=bitrate)
    return tokens[:, 0], model.decode(model.codes_to_features(tokens), bandwidth_id=bitrate)
