"""Guest for SNAC, with its authors' package ``snac``."""

from __future__ import annotations

from math import lcm
from typing import Any

import guest_tools
import numpy as np

FILES = ("config.json", "pytorch_model.bin")
NOISE_SEED = 0
"""The decoder adds random noise (its noise blocks); a fixed seed gives the same audio for the same tokens.

Drawn on the CPU and the same for all clips of a batch, the noise depends neither on the device nor on other clips.
"""


def weights(_card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens."""
    return [guest_tools.Files(FILES)]


class Guest:
    """Codebooks of several frame rates, grouped by the slowest: 1 + 2 + 4 (+ 8) tokens per frame, coarse to fine."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch
        from snac import SNAC, layers

        self.torch, self.device = torch, guest_tools.Device(device)
        layers.NoiseBlock.forward = with_noise
        self.model = SNAC.from_pretrained(str(guest_tools.weights_folder(card, *weights(card)[0]))).to(device)
        coarsest = self.model.vq_strides[0]
        self.block = int(self.model.hop_length) * lcm(coarsest, self.model.attn_window_size or 1)
        self.repeats = [coarsest // stride for stride in self.model.vq_strides]
        guest_tools.expect(
            card,
            sampling_rate=self.model.sampling_rate,
            codebooks=sum(self.repeats),
            codebook_size=self.model.codebook_size,
            frame_rate=self.model.sampling_rate / (int(self.model.hop_length) * coarsest),
        )

    def encode_batch(self, audios: list[Any]) -> Any:
        """Return tokens ``(codebooks, frames)`` of each mono clip; silence fills the last block, as in the package."""
        return self.device.stacked([guest_tools.filled(audio, self.block) for audio in audios], self._tokens)

    def decode_batch(self, payloads: list[Any], _channels: int) -> Any:
        """Return audio ``(1, samples)`` of each clip's tokens."""
        return self.device.stacked([tokens.astype(np.int64) for tokens in payloads], self._sound)

    def _tokens(self, audio: Any) -> Any:
        """Return tokens ``(clips, codebooks, frames)`` of audio ``(clips, 1, samples)``."""
        codes = self.model.encode(audio)
        levels = [code.unflatten(1, (-1, n)).transpose(1, 2) for code, n in zip(codes, self.repeats, strict=True)]
        return self.torch.cat(levels, dim=1)

    def _sound(self, tokens: Any) -> Any:
        """Return audio ``(clips, 1, samples)`` of tokens ``(clips, codebooks, frames)``."""
        levels = [level.transpose(1, 2).flatten(1) for level in tokens.split(self.repeats, dim=1)]
        self.torch.manual_seed(NOISE_SEED)
        return self.model.decode(levels)


def with_noise(block: Any, features: Any) -> Any:
    """Compute what the package's noise block does, with noise of one clip drawn on the CPU."""
    import torch

    noise = torch.randn((1, 1, features.shape[2]), dtype=features.dtype).to(features.device)
    return features + noise * block.linear(features)
