"""Guest for L3AC, with its authors' package ``l3ac``."""

from __future__ import annotations

import tomllib
from types import SimpleNamespace
from typing import Any

import guest_tools

VERSION = "v1"
PARTS = ("encoder", "quantizer", "decoder", "en_encoder", "en_decoder")
"""Parts of the model, each of which has a file."""


def weights(card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens."""
    return [guest_tools.Files(tuple(f"{part}.pt" for part in PARTS), f"weights/{card['settings']['model']}.{VERSION}")]


class Guest:
    """One FSQ codebook of six digits with seven or nine levels each, between convolutions and local attention."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import l3ac  # type: ignore[import-not-found]  # in the private environment alone
        import torch

        self.torch, self.device = torch, guest_tools.Device(device)
        name = card["settings"]["model"]
        # The package reads its configuration through settings that environment variables can override.
        config = tomllib.loads((l3ac.CONFIG_DIR / f"{name}.toml").read_text())
        self.codec = l3ac.L3AC(SimpleNamespace(network_config=l3ac.ModelConfig(**config["network_config"])))
        network = self.codec.network
        parts = network.trainable_modules
        folder = guest_tools.weights_folder(card, *weights(card)[0])
        for part, model in parts.items():
            # The package leaves a part whose file is missing randomly initialised.
            model.load_state_dict(torch.load(folder / f"{part}.pt", map_location="cpu", weights_only=True))
        network.eval().to(device)  # in training the quantizer adds noise
        guest_tools.expect(
            card,
            sampling_rate=config["sample_rate"],
            codebooks=1,
            codebook_size=network.quantizer.vq.codebook_size,
            frame_rate=card["sampling_rate"] / network.mc.hop_length,
        )

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(1, frames)`` of mono audio; the package pads the last frame with silence."""
        with self.torch.inference_mode():
            return self.device.get(self.codec.encode_audio(self.device.put(audio))[1]["indices"])

    def decode(self, tokens: Any, _channels: int) -> Any:
        """Return audio ``(1, samples)``."""
        with self.torch.inference_mode():
            return self.device.get(self.codec.decode_audio(indices=self.device.put(tokens)))
