"""Guest for HiFi-Codec of AcademiCodec, with the code of its authors' repository."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import guest_tools


def weights(card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens."""
    return [guest_tools.Files((card["settings"]["file"],))]


class Guest:
    """Group-residual quantisation: two groups of channels with two codebooks each, the second on the residual."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch
        from academicodec.models.hificodec import models  # type: ignore[import-not-found]  # in the private environment

        self.torch, self.device = torch, guest_tools.Device(device)
        path = guest_tools.weights_folder(card, *weights(card)[0]) / card["settings"]["file"]
        # The package's own class loads the checkpoint onto the device on which it was saved.
        stored = torch.load(path, map_location="cpu", weights_only=True)
        facts = SimpleNamespace(**card["settings"]["model"])
        self.encoder, self.quantizer, self.generator = (
            self._open(kind(facts), stored[part]).to(device)
            for part, kind in (
                ("encoder", models.Encoder),
                ("quantizer", models.Quantizer),
                ("generator", models.Generator),
            )
        )
        codebooks = [*self.quantizer.quantizer_modules, *self.quantizer.quantizer_modules2]
        self.hop = math.prod(up.stride[0] for up in self.generator.ups)
        guest_tools.expect(
            card,
            codebooks=len(codebooks),
            codebook_size=codebooks[0].embedding.num_embeddings,
            frame_rate=card["sampling_rate"] / self.hop,
        )

    @staticmethod
    def _open(model: Any, state: dict[str, Any]) -> Any:
        """Load one part, every parameter of it."""
        model.load_state_dict(state)
        return model.eval()

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(codebooks, frames)`` of mono audio, zero-padded: the package drops an incomplete frame."""
        padded = self.device.put(guest_tools.filled(audio, self.hop))
        with self.torch.inference_mode():
            return self.device.get(self.torch.stack(self.quantizer(self.encoder(padded[None]))[2]))

    def decode(self, tokens: Any, _channels: int) -> Any:
        """Return audio ``(1, samples)``."""
        with self.torch.inference_mode():
            latents = self.quantizer.embed(self.device.put(tokens.T)[None])
            return self.device.get(self.generator(latents)[0])
