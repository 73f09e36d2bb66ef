"""Guest for AUV and for LLM-Codec, which is an AUV trained further, with AUV's own package ``auv``."""

from __future__ import annotations

from typing import Any

import guest_tools

CHECKPOINT = "auv.pt"
"""Name of the published file, where the card names no other."""
FEWEST_FRAMES = 2
"""The spectrum reflects 480 samples at both ends, so that a clip has more than those."""


def weights(card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens."""
    return [guest_tools.Files((card["settings"].get("file", CHECKPOINT),))]


class Guest:
    """One codebook at 50 Hz, all of which is searched: the package searches a part of it only in training."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch
        from auv.model import AUV  # type: ignore[import-not-found]  # in the private environment alone

        self.torch, self.device = torch, guest_tools.Device(device)
        (files,) = weights(card)
        file = guest_tools.weights_folder(card, *files) / files.names[0]
        model = AUV()
        model.from_pretrained(str(file))  # raises where a parameter is missing
        self.model, tokenizer = model.eval().to(device), model.tokenizer
        self.hop = int(tokenizer.hop_length)
        guest_tools.expect(
            card,
            sampling_rate=tokenizer.sample_rate,
            codebooks=tokenizer.vq.num_quantizers,
            codebook_size=tokenizer.vq.quantizers[0].codebook_size,
            frame_rate=tokenizer.sample_rate / self.hop,
        )

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(1, frames)`` of mono audio, zero-padded: the package drops an incomplete last frame."""
        samples = max(audio.shape[1] + -audio.shape[1] % self.hop, FEWEST_FRAMES * self.hop)
        padded = self.torch.nn.functional.pad(self.device.put(audio), (0, samples - audio.shape[1]))
        with self.torch.inference_mode():
            return self.device.get(self.model.encode({"sample": padded, "sample_rate": None})["tokens"][:, 0])

    def decode(self, tokens: Any, _channels: int) -> Any:
        """Return audio ``(1, samples)``."""
        with self.torch.inference_mode():
            return self.device.get(self.model.decode_tokens(self.device.put(tokens).T[None].long())[0])
