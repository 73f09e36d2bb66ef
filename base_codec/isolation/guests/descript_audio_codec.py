"""Guest for DAC at 44.1 kHz, with its authors' package ``descript-audio-codec``."""

from __future__ import annotations

from typing import Any

import guest_tools

CHECKPOINT = "weights_44khz_8kbps_0.0.1.pth"
"""Name of the file in the package's own cache, where the card names no other."""


def weights(card: dict[str, Any]) -> list[guest_tools.Download]:
    """Return what the guest opens."""
    return [guest_tools.Download(card["settings"].get("file", CHECKPOINT))]


class Guest:
    """The first codebooks of the model's nine or eighteen; quantizer dropout in training allows any number of them."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch
        from dac.model import DAC

        self.device = guest_tools.Device(device)
        file = guest_tools.weights_file(card, *weights(card)[0])
        guest_tools.expect_hash(card, file)
        # The package's own loader unpickles arbitrary objects and ignores parameters that do not fit.
        stored = torch.load(file, map_location="cpu", weights_only=True)
        model = DAC(**stored["metadata"]["kwargs"])
        model.load_state_dict(stored["state_dict"])
        self.model, self.used = model.eval().to(device), card["codebooks"]
        if self.used > model.n_codebooks:
            raise ValueError(f"expected weights with {self.used} codebooks or more, got {model.n_codebooks}")
        self.hop = int(model.hop_length)
        guest_tools.expect(
            card,
            sampling_rate=model.sample_rate,
            codebook_size=model.codebook_size,
            frame_rate=model.sample_rate / self.hop,
        )

    def encode_batch(self, audios: list[Any]) -> Any:
        """Return tokens ``(codebooks, frames)`` of each mono clip; silence fills the last frame, as in the package."""
        whole = [guest_tools.filled(audio, self.hop) for audio in audios]
        return self.device.stacked(whole, lambda audio: self.model.encode(audio, n_quantizers=self.used)[1])

    def decode_batch(self, payloads: list[Any], _channels: int) -> Any:
        """Return audio ``(1, samples)`` of each clip's tokens."""
        return self.device.stacked(payloads, self._sound)

    def _sound(self, tokens: Any) -> Any:
        """Return audio ``(clips, 1, samples)`` of tokens ``(clips, codebooks, frames)``."""
        return self.model.decode(self.model.quantizer.from_codes(tokens)[0])
