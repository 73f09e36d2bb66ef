"""Guest for SQ-Codec, with its authors' package ``sq-codec``."""

from __future__ import annotations

import tomllib
from types import SimpleNamespace
from typing import Any

import guest_tools

PARTS = ("encoder", "quantizer", "decoder", "en_encoder", "en_decoder")
"""Parts of the package's network; each has a file of its own."""


def weights(card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens."""
    names = tuple(f"{part}.pt" for part in PARTS)
    return [guest_tools.Files(names, f"weights/{card['settings']['model']}.v0")]


class Guest:
    """One FSQ codebook of six digits with seven or nine levels each; clips are coded in whole attention blocks."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import sq_codec  # type: ignore[import-not-found]  # in the private environment alone
        import torch

        self.torch, self.device = torch, guest_tools.Device(device)
        name = card["settings"]["model"]
        # The package reads its configuration through settings that environment variables can override.
        config = tomllib.loads((sq_codec.CONFIG_DIR / f"{name}.toml").read_text())["network_config"]
        self.codec = sq_codec.SQCodec(SimpleNamespace(network_config=sq_codec.ModelConfig(**config)))
        network = self.codec.network
        if network.trainable_modules.keys() != set(PARTS):
            raise ValueError(f"expected the parts {', '.join(PARTS)}, got {', '.join(network.trainable_modules)}")
        folder = guest_tools.weights_folder(card, *weights(card)[0])
        for part in PARTS:
            # The package leaves a part whose file is missing randomly initialised.
            state = torch.load(folder / f"{part}.pt", map_location="cpu", weights_only=True)
            network.trainable_modules[part].load_state_dict(state)
        network.eval().to(device)  # in training the quantizer adds noise
        quantizer = network.quantizer.vq
        self._check_levels(quantizer, config["vq_config"]["codebook_dim"])
        guest_tools.expect(
            card,
            codebooks=quantizer.num_codebooks,
            codebook_size=quantizer.codebook_size,
            frame_rate=card["sampling_rate"] / network.mc.hop_length,
        )

    def _check_levels(self, quantizer: Any, levels: list[int]) -> None:
        """Refuse ``vector-quantize-pytorch`` 1.22.16 and newer: it rounds values that the package rounds again."""
        ramp = self.torch.linspace(-4, 4, 1001, device=self.device.name)[:, None].expand(-1, len(levels))
        found = [len(digit.unique()) for digit in quantizer.quantize(ramp).T]
        if found != levels:
            raise ValueError(f"expected a quantizer of {levels} levels, got {found}: check vector-quantize-pytorch")

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(1, frames)`` of mono audio; the package pads the last block with silence."""
        with self.torch.inference_mode():
            return self.device.get(self.codec.encode_audio(self.device.put(audio))[1])

    def decode(self, tokens: Any, _channels: int) -> Any:
        """Return audio ``(1, samples)``."""
        with self.torch.inference_mode():
            return self.device.get(self.codec.decode_audio(indices=self.device.put(tokens)))
