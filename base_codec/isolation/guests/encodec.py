"""Guest for EnCodec at 24 kHz, with its authors' package ``encodec``."""

from __future__ import annotations

from typing import Any

import guest_tools

CHECKPOINT = "encodec_24khz-d7cc33bc.th"


def weights(_card: dict[str, Any]) -> list[guest_tools.Download]:
    """Return what the guest opens."""
    return [guest_tools.Download(CHECKPOINT)]


class Guest:
    """The first codebooks of the model, as many as the card's bitrate selects."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch
        from encodec import EncodecModel

        self.device = guest_tools.Device(device)
        model = EncodecModel.encodec_model_24khz(pretrained=False)
        state = torch.load(guest_tools.weights_file(card, *weights(card)[0]), map_location="cpu", weights_only=True)
        model.load_state_dict(state)
        model.set_target_bandwidth(card["nominal_kbps"])
        self.model = model.to(device)
        guest_tools.expect(
            card,
            sampling_rate=model.sample_rate,
            codebook_size=model.quantizer.bins,
            codebooks=model.quantizer.get_num_quantizers_for_bandwidth(model.frame_rate, model.bandwidth),
            frame_rate=model.sample_rate / model.encoder.hop_length,
        )

    def encode_batch(self, audios: list[Any]) -> Any:
        """Return tokens ``(codebooks, frames)`` of each mono clip."""
        return self.device.stacked(audios, lambda audio: self.model.encode(audio)[0][0])

    def decode_batch(self, payloads: list[Any], _channels: int) -> Any:
        """Return audio ``(1, samples)`` of each clip's tokens."""
        return self.device.stacked(payloads, lambda tokens: self.model.decode([(tokens, None)]))
