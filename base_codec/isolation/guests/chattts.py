"""Guest for the DVAE of ChatTTS with its Vocos decoder, by the package ``chattts``: it codes a mel spectrogram."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import guest_tools
import numpy as np

FILES = ("DVAE.safetensors", "Vocos.safetensors")
FOLDER = "asset"
"""Their folder in the hub's repository."""


def weights(_card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens."""
    return [guest_tools.Files(FILES, FOLDER)]


class Guest:
    """Two groups of two residual scalar quantisers, coded at half the rate of a mel spectrogram."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch

        self.torch, self.device = torch, guest_tools.Device(device)
        package = without_language_model()
        folder = guest_tools.weights_folder(card, *weights(card)[0])
        known = json.loads((package / "res" / "sha256_map.json").read_text())
        for name in FILES:
            guest_tools.expect_hash(card, folder / name, known[f"sha256_{FOLDER}_{name.replace('.', '_')}"])
        self.dvae, self.vocos = models()
        for model, name in zip((self.dvae, self.vocos), FILES, strict=True):
            load(model, folder / name)
            model.eval().to(device)
        self.dvae.preprocessor_mel.device = torch.device(device)  # where the package puts the sound
        quantizer, mel = self.dvae.vq_layer, self.dvae.preprocessor_mel.mel_spec
        self.hop = mel.hop_length
        self.frame = self.hop * self.dvae.downsample_conv[2].stride[0]
        guest_tools.expect(
            card,
            sampling_rate=mel.sample_rate,
            codebooks=quantizer.G * quantizer.R,
            codebook_size=quantizer.n_ind,
            frame_rate=mel.sample_rate / self.frame,
        )

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(codebooks, frames)`` of mono audio, zero-padded so that the decoder restores its end.

        A centred STFT has one frame more than hops; Vocos returns one hop less than frames. Padding to one hop less
        than whole frames loses nothing. At least two frames are coded, since the STFT pads by reflection, which needs
        more samples than one frame has.
        """
        samples = audio.shape[1]
        frames = max(-(-(samples + self.hop) // self.frame), 2)
        filled = np.pad(audio[0], (0, frames * self.frame - self.hop - samples))
        with self.torch.inference_mode():
            return self.device.get(self.dvae(self.device.put(filled), "encode")[0])

    def decode(self, tokens: Any, _channels: int) -> Any:
        """Return audio ``(1, samples)``."""
        with self.torch.inference_mode():
            return self.device.get(self.vocos.decode(self.dvae(self.device.put(tokens)[None], "decode")))


def without_language_model() -> Path:
    """Register empty parent packages so that single modules can be imported, and return the package's folder.

    ``ChatTTS/__init__.py`` imports the language model with transformers and numba, which the codec does not need.
    """
    import importlib.util
    import sys
    import types

    spec = importlib.util.find_spec("ChatTTS")
    if spec is None or spec.origin is None:
        raise ImportError("expected the package chattts in the environment, found none")
    folder = Path(spec.origin).parent
    for name in ("ChatTTS", "ChatTTS.model"):
        module = types.ModuleType(name)
        module.__path__ = [str(folder.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = module
    return folder


def models() -> tuple[Any, Any]:
    """Return the package's DVAE and Vocos, untrained, at their only published size."""
    from dataclasses import asdict

    from ChatTTS.config.config import Config  # type: ignore[import-not-found]  # in the private environment alone
    from ChatTTS.model.dvae import DVAE  # type: ignore[import-not-found]  # as above
    from vocos import Vocos  # type: ignore[import-not-found]  # as above
    from vocos.pretrained import instantiate_class  # type: ignore[import-not-found]  # as above

    config = Config()
    dvae, parts = asdict(config.dvae), asdict(config.vocos)
    return (
        DVAE(dvae["decoder"], dvae["encoder"], dvae["vq"], dim=dvae["decoder"]["idim"]),
        Vocos(**{name: instantiate_class(args=(), init=part) for name, part in parts.items()}),
    )


def load(model: Any, file: Path) -> None:
    """Load the parameters of a model from a file that must hold all of them."""
    from safetensors.torch import load_file

    model.load_state_dict(load_file(file))
