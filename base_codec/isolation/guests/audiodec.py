"""Guest for AudioDec, with the code of its authors' repository: the autoencoder encodes, the vocoder decodes.

As in the authors' demo for files, both process silence before the clip, so that their buffers are those of a stream.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import guest_tools

# The models of 24 kHz, where the card names no others.
AUTOENCODER = "autoencoder/symAD_libritts_24000_hop300/checkpoint-500000steps.pkl"
VOCODER = "vocoder/AudioDec_v1_symAD_libritts_24000_hop300_clean/checkpoint-500000steps.pkl"
CONFIG = "config.yml"
SILENCE = 8192
"""Samples of silence before the clip, as in the authors' class."""


def weights(card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens: of each model its configuration and its checkpoint."""
    return [
        guest_tools.Files(tuple(str(Path(file).with_name(name)) for file in _models(card) for name in _beside(file)))
    ]


class Guest:
    """Eight codebooks, frames of 300 samples; the state of the stream is reset before each clip."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch

        # The repository's packages are called `models`; nothing else in this environment uses that name.
        from models.autoencoder.AudioDec import StreamGenerator as Autoencoder  # type: ignore[import-not-found]
        from models.vocoder.HiFiGAN import StreamGenerator as Vocoder  # type: ignore[import-not-found]

        self.torch, self.device = torch, guest_tools.Device(device)
        autoencoder, vocoder = _models(card)
        folder = guest_tools.weights_folder(card, *weights(card)[0])
        facts, state = self._read(folder / autoencoder)
        self.autoencoder = Autoencoder(**facts["generator_params"])
        self.autoencoder.load_state_dict(state)
        guest_tools.expect(
            card,
            sampling_rate=facts["sampling_rate"],
            codebooks=facts["generator_params"]["codebook_num"],
            codebook_size=facts["generator_params"]["codebook_size"],
            frame_rate=facts["sampling_rate"] / math.prod(facts["generator_params"]["enc_strides"]),
        )
        facts, state = self._read(folder / vocoder)
        self.vocoder = self._vocoder(Vocoder, facts["generator_params"])
        self.vocoder.load_state_dict(state)
        scales = facts["generator_params"]["upsample_scales"]
        guest_tools.expect(card, frame_rate=facts["sampling_rate"] / math.prod(scales))
        for model in (self.autoencoder, self.vocoder):
            model.eval().to(device)
        with torch.inference_mode():
            self.vocoder.initial_decoder(self.autoencoder.initial_encoder(SILENCE, device))
        modules = [*self.autoencoder.modules(), *self.vocoder.modules()]
        self.start = [(module, module.pad_buffer.clone()) for module in modules if hasattr(module, "pad_buffer")]
        size = self.autoencoder.quantizer.codebook.codebook_size
        # the package numbers all codebooks through
        self.offsets = size * torch.arange(card["codebooks"], device=device)[:, None]

    def _read(self, checkpoint: Path) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return a model's configuration and parameters, both read as plain data."""
        import yaml

        stored = self.torch.load(checkpoint, map_location="cpu", weights_only=True)
        return yaml.safe_load(checkpoint.with_name(CONFIG).read_text()), stored["model"]["generator"]

    def _vocoder(self, kind: Any, facts: dict[str, Any]) -> Any:
        """Create the vocoder with buffers for the mean and scale of its input, which its checkpoint holds.

        The package would first read them from another file, by a path on the authors' machine that the config names.
        """
        vocoder = kind(**{**facts, "stats": None})
        for name in ("mean", "scale"):
            vocoder.register_buffer(name, self.torch.zeros(facts["in_channels"]))
        vocoder.norm = True
        return vocoder

    def _rewind(self) -> None:
        """Reset the buffers to their state after the initial silence."""
        for module, buffer in self.start:
            module.pad_buffer = buffer

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(codebooks, frames)`` of mono audio."""
        self._rewind()
        with self.torch.inference_mode():
            latents = self.autoencoder.encode(self.device.put(audio)[None])
            return self.device.get(self.autoencoder.quantize(latents) - self.offsets)

    def decode(self, tokens: Any, _channels: int) -> Any:
        """Return audio ``(1, samples)``."""
        self._rewind()
        with self.torch.inference_mode():
            latents = self.autoencoder.lookup(self.device.put(tokens) + self.offsets)
            return self.device.get(self.vocoder.decode(latents)[0])


def _beside(checkpoint: str) -> tuple[str, str]:
    """Return the names of the two files of a model."""
    return CONFIG, Path(checkpoint).name


def _models(card: dict[str, Any]) -> tuple[str, str]:
    """Return the names of the checkpoints of autoencoder and vocoder."""
    return card["settings"].get("autoencoder", AUTOENCODER), card["settings"].get("vocoder", VOCODER)
