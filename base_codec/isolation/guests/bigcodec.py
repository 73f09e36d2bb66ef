"""Guest for BigCodec: its authors' checkpoint in the package ``bigcodec``, a third party's packaging of their code."""

from __future__ import annotations

from typing import Any

import guest_tools

CHECKPOINT = "bigcodec.pt"


def weights(_card: dict[str, Any]) -> list[guest_tools.Files]:
    """Return what the guest opens."""
    return [guest_tools.Files((CHECKPOINT,))]


class Guest:
    """One codebook, one token per 12.5 ms."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import torch
        from bigcodec import CodecDecoder, CodecEncoder  # type: ignore[import-not-found]  # in the private environment

        self.device = guest_tools.Device(device)
        file = guest_tools.weights_folder(card, *weights(card)[0]) / CHECKPOINT
        guest_tools.expect_hash(card, file)
        stored = torch.load(file, map_location="cpu", weights_only=True)
        listener, speaker = stored["CodecEnc"], stored["generator"]
        entries, dimensions = speaker["quantizer.layers.0._codebook.weight"].shape
        # The checkpoint has no configuration: widths come from tensor shapes; the published ones are the defaults.
        features = speaker["quantizer.layers.0.out_proj.bias"].numel()
        self.encoder = CodecEncoder(ngf=listener["block.0.bias"].numel(), out_channels=features)
        self.decoder = CodecDecoder(
            in_channels=features, upsample_initial_channel=speaker["model.0.bias"].numel(), vq_dim=features,
            codebook_size=entries, codebook_dim=dimensions,
        )  # fmt: skip
        for model, state in ((self.encoder, listener), (self.decoder, speaker)):
            model.load_state_dict(state)
            model.eval().to(device)
        self.hop = int(self.encoder.hop_length)
        guest_tools.expect(
            card,
            codebooks=self.decoder.quantizer.num_quantizers,
            codebook_size=entries,
            frame_rate=card["sampling_rate"] / self.hop,
        )

    def encode_batch(self, audios: list[Any]) -> Any:
        """Return tokens ``(1, frames)`` of each mono clip; silence fills the last frame."""
        whole = [guest_tools.filled(audio, self.hop) for audio in audios]
        return self.device.stacked(whole, lambda audio: self.decoder(self.encoder(audio), vq=True)[1].transpose(0, 1))

    def decode_batch(self, payloads: list[Any], _channels: int) -> Any:
        """Return audio ``(1, samples)`` of each clip's tokens."""
        return self.device.stacked(payloads, self._sound)

    def _sound(self, tokens: Any) -> Any:
        """Return audio ``(clips, 1, samples)`` of tokens ``(clips, 1, frames)``."""
        return self.decoder(self.decoder.vq2emb(tokens.transpose(1, 2)).transpose(1, 2), vq=False)
