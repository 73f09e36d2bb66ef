"""Guest for Vocos on the tokens of EnCodec 24 kHz, with its authors' package ``vocos``: Vocos replaces the decoder."""

from __future__ import annotations

from typing import Any

import guest_tools

FILES = ("config.yaml", "pytorch_model.bin")
ENCODEC = "encodec_24khz-d7cc33bc.th"


def weights(card: dict[str, Any]) -> tuple[guest_tools.Files, guest_tools.Download]:
    """Return what the guest opens: Vocos, and EnCodec of other publishers."""
    return guest_tools.Files(FILES), guest_tools.Download(ENCODEC, card["settings"]["encodec"])


class Guest:
    """The first codebooks of EnCodec, as the card's bitrate selects, and a decoder trained for several bitrates."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch
        from encodec import EncodecModel
        from vocos import Vocos  # type: ignore[import-not-found]  # in the private environment alone

        self.device = guest_tools.Device(device)
        own, encodec_file = weights(card)
        folder = guest_tools.weights_folder(card, *own)
        encodec = torch.load(guest_tools.weights_file(card, *encodec_file), map_location="cpu", weights_only=True)
        # The package downloads EnCodec's weights itself and ignores the user's folder and the offline flags.
        empty = EncodecModel.encodec_model_24khz
        EncodecModel.encodec_model_24khz = staticmethod(lambda pretrained: empty(pretrained=False))  # noqa: ARG005
        model = Vocos.from_hparams(str(folder / FILES[0]))
        state = torch.load(folder / FILES[1], map_location="cpu", weights_only=True)
        state |= {f"feature_extractor.encodec.{name}": value for name, value in encodec.items()}
        model.load_state_dict(state)
        self.model, self.features = model.eval().to(device), model.feature_extractor
        self.bitrate = torch.tensor([self.features.bandwidths.index(card["nominal_kbps"])], device=device)
        encodec = self.features.encodec
        encodec.set_target_bandwidth(card["nominal_kbps"])
        guest_tools.expect(
            card,
            sampling_rate=encodec.sample_rate,
            codebook_size=encodec.quantizer.bins,
            codebooks=encodec.quantizer.get_num_quantizers_for_bandwidth(encodec.frame_rate, card["nominal_kbps"]),
            frame_rate=encodec.sample_rate / encodec.encoder.hop_length,
        )

    def encode_batch(self, audios: list[Any]) -> Any:
        """Return tokens ``(codebooks, frames)`` of each mono clip."""
        return self.device.stacked(audios, lambda audio: self.features.get_encodec_codes(audio[:, 0]).transpose(0, 1))

    def decode_batch(self, payloads: list[Any], _channels: int) -> Any:
        """Return audio ``(1, samples)`` of each clip's tokens."""
        return self.device.stacked(payloads, self._sound)

    def _sound(self, tokens: Any) -> Any:
        """Return audio ``(clips, 1, samples)`` of tokens ``(clips, codebooks, frames)``."""
        features = self.model.codes_to_features(tokens.transpose(0, 1))
        return self.model.decode(features, bandwidth_id=self.bitrate)[:, None]
