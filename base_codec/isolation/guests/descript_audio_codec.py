"""Guest for DAC at 44.1 kHz, with its authors' package ``descript-audio-codec``."""

from __future__ import annotations

from typing import Any

import guest_tools

CHECKPOINT = "weights_44khz_8kbps_0.0.1.pth"
"""Name of the file in the package's own cache."""


def weights(_card: dict[str, Any]) -> list[guest_tools.Download]:
    """Return what the guest opens."""
    return [guest_tools.Download(CHECKPOINT)]


class Guest:
    """The first codebooks of the model's nine; quantizer dropout in training allows any number of them."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch
        from dac.model import DAC

        self.torch = torch
        file = guest_tools.weights_file(card, *weights(card)[0])
        guest_tools.expect_hash(card, file)
        # The package's own loader unpickles arbitrary objects and ignores parameters that do not fit.
        stored = torch.load(file, map_location="cpu", weights_only=True)
        model = DAC(**stored["metadata"]["kwargs"])
        model.load_state_dict(stored["state_dict"])
        self.model, self.used = model.eval().to(device), card["codebooks"]
        if self.used > model.n_codebooks:
            raise ValueError(f"expected weights with {self.used} codebooks or more, got {model.n_codebooks}")
        guest_tools.expect(
            card,
            sampling_rate=model.sample_rate,
            codebook_size=model.codebook_size,
            frame_rate=model.sample_rate / int(model.hop_length),
        )

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(codebooks, frames)`` of mono audio."""
        with self.torch.inference_mode():
            padded = self.model.preprocess(self.torch.from_numpy(audio)[None], self.model.sample_rate)
            return self.model.encode(padded, n_quantizers=self.used)[1][0].numpy()

    def decode(self, tokens: Any, _channels: int) -> Any:
        """Return audio ``(1, samples)``."""
        with self.torch.inference_mode():
            latents = self.model.quantizer.from_codes(self.torch.from_numpy(tokens)[None])[0]
            return self.model.decode(latents)[0].numpy()
