"""The DVAE of ChatTTS and its Vocos, which have one size."""

from __future__ import annotations

import importlib.util
import sys
import types
from dataclasses import asdict

import torch

CODEC = "chattts_dvae"
FILE = "Vocos.safetensors"


def models():  # noqa: ANN201
    """Return the package's models, built as its ``Chat`` does, which needs the language model's packages too."""
    root = importlib.util.find_spec("ChatTTS").submodule_search_locations[0]
    for name in ("ChatTTS", "ChatTTS.model"):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [root + name.removeprefix("ChatTTS").replace(".", "/")]
    from ChatTTS.config.config import Config
    from ChatTTS.model.dvae import DVAE
    from vocos import Vocos
    from vocos.pretrained import instantiate_class

    config = Config()
    dvae = DVAE(
        decoder_config=asdict(config.dvae.decoder), encoder_config=asdict(config.dvae.encoder),
        vq_config=asdict(config.dvae.vq), dim=config.dvae.decoder.idim,
    )  # fmt: skip
    vocos = Vocos(
        feature_extractor=instantiate_class(args=(), init=asdict(config.vocos.feature_extractor)),
        backbone=instantiate_class(args=(), init=asdict(config.vocos.backbone)),
        head=instantiate_class(args=(), init=asdict(config.vocos.head)),
    )
    return dvae.eval(), vocos.eval()


def make(folder):  # noqa: ANN001, ANN201
    """Write both files; a projection spreads latents over the levels, so that tokens depend on the sound."""
    from safetensors.torch import save_file

    dvae, vocos = models()
    for residual in dvae.vq_layer.quantizer.rvqs:
        residual.project_in.weight.data *= 20
    save_file(dvae.state_dict(), folder / "DVAE.safetensors")
    save_file(vocos.state_dict(), folder / "Vocos.safetensors")


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return the package's own tokens and sound of a clip filled up to whole frames less a hop."""
    from safetensors.torch import load_file

    dvae, vocos = models()
    dvae.load_pretrained(folder / "DVAE.safetensors", torch.device("cpu"))
    vocos.load_state_dict(load_file(folder / "Vocos.safetensors"))
    filled = torch.nn.functional.pad(audio[0], (0, -(audio.shape[1] + 256) % 512))
    tokens = dvae(filled, "encode")
    return tokens[0].clone(), vocos.decode(dvae(tokens, "decode"))
