"""Guest for SNAC, with its authors' package ``snac``."""

from __future__ import annotations

from typing import Any

import guest_tools
import numpy as np

FILES = ("config.json", "pytorch_model.bin")
NOISE_SEED = 0
"""The decoder adds random noise (its noise blocks); a fixed seed gives the same audio for the same tokens."""


def weights(_card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens."""
    return [guest_tools.Files(FILES)]


class Guest:
    """Codebooks of several frame rates, grouped by the slowest: 1 + 2 + 4 (+ 8) tokens per frame, coarse to fine."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch
        from snac import SNAC

        self.torch = torch
        self.model = SNAC.from_pretrained(str(guest_tools.weights_folder(card, *weights(card)[0]))).to(device)
        coarsest = self.model.vq_strides[0]
        self.repeats = [coarsest // stride for stride in self.model.vq_strides]
        guest_tools.expect(
            card,
            sampling_rate=self.model.sampling_rate,
            codebooks=sum(self.repeats),
            codebook_size=self.model.codebook_size,
            frame_rate=self.model.sampling_rate / (int(self.model.hop_length) * coarsest),
        )

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(codebooks, frames)`` of mono audio; the package pads the last block with silence."""
        with self.torch.inference_mode():
            codes = self.model.encode(self.torch.from_numpy(audio)[None])
        return np.concatenate([code[0].numpy().reshape(-1, n).T for code, n in zip(codes, self.repeats, strict=True)])

    def decode(self, tokens: Any, _channels: int) -> Any:
        """Return audio ``(1, samples)``."""
        ends = np.cumsum(self.repeats)
        levels = [tokens[end - n : end].T.reshape(1, -1) for end, n in zip(ends, self.repeats)]  # noqa: B905
        self.torch.manual_seed(NOISE_SEED)
        with self.torch.inference_mode():
            codes = [self.torch.from_numpy(np.ascontiguousarray(level, dtype=np.int64)) for level in levels]
            return self.model.decode(codes)[0].numpy()
