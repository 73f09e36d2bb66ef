"""Guest for SpeechTokenizer, with its authors' package ``speechtokenizer``."""

from __future__ import annotations

from typing import Any

import guest_tools

CONFIG, CHECKPOINT = "config.json", "SpeechTokenizer.pt"


def weights(card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens."""
    settings = card["settings"]
    return [guest_tools.Files((CONFIG, settings.get("checkpoint", CHECKPOINT)), settings.get("subfolder", ""))]


class Guest:
    """Eight codebooks at 50 Hz; the first is distilled from HuBERT."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        from speechtokenizer import SpeechTokenizer

        self.device = guest_tools.Device(device)
        folder = guest_tools.weights_folder(card, *weights(card)[0])
        config, checkpoint = (str(folder / name) for name in weights(card)[0].names)
        self.model = SpeechTokenizer.load_from_checkpoint(config, checkpoint).eval().to(device)
        guest_tools.expect(
            card,
            sampling_rate=self.model.sample_rate,
            codebooks=self.model.n_q,
            codebook_size=self.model.quantizer.bins,
            frame_rate=self.model.sample_rate / int(self.model.downsample_rate),
        )

    def encode_batch(self, audios: list[Any]) -> Any:
        """Return tokens ``(codebooks, frames)`` of each mono clip."""
        return self.device.stacked(audios, lambda audio: self.model.encode(audio).transpose(0, 1))

    def decode_batch(self, payloads: list[Any], _channels: int) -> Any:
        """Return audio ``(1, samples)`` of each clip's tokens."""
        return self.device.stacked(payloads, lambda tokens: self.model.decode(tokens.transpose(0, 1)))
