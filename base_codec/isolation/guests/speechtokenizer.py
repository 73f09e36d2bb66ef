"""Guest for SpeechTokenizer, with its authors' package ``speechtokenizer``."""

from __future__ import annotations

from typing import Any

import guest_tools

FILES = ("config.json", "SpeechTokenizer.pt")


def weights(card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens."""
    return [guest_tools.Files(FILES, card["settings"].get("subfolder", ""))]


class Guest:
    """Eight codebooks at 50 Hz; the first is distilled from HuBERT."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch
        from speechtokenizer import SpeechTokenizer

        self.torch = torch
        folder = guest_tools.weights_folder(card, *weights(card)[0])
        config, checkpoint = (str(folder / name) for name in FILES)
        self.model = SpeechTokenizer.load_from_checkpoint(config, checkpoint).eval().to(device)
        guest_tools.expect(
            card,
            sampling_rate=self.model.sample_rate,
            codebooks=self.model.n_q,
            codebook_size=self.model.quantizer.bins,
            frame_rate=self.model.sample_rate / int(self.model.downsample_rate),
        )

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(codebooks, frames)`` of mono audio."""
        with self.torch.inference_mode():
            return self.model.encode(self.torch.from_numpy(audio)[None])[:, 0].numpy()

    def decode(self, tokens: Any, _channels: int) -> Any:
        """Return audio ``(1, samples)``."""
        with self.torch.inference_mode():
            return self.model.decode(self.torch.from_numpy(tokens)[:, None])[0].numpy()
