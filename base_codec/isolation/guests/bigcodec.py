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

        self.torch = torch
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

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(1, frames)`` of mono audio; silence fills the last frame."""
        padded = self.torch.nn.functional.pad(self.torch.from_numpy(audio)[None], (0, -audio.shape[1] % self.hop))
        with self.torch.inference_mode():
            return self.decoder(self.encoder(padded), vq=True)[1][:, 0].numpy()

    def decode(self, tokens: Any, _channels: int) -> Any:
        """Return audio ``(1, samples)``."""
        with self.torch.inference_mode():
            features = self.decoder.vq2emb(self.torch.from_numpy(tokens).T[None]).transpose(1, 2)
            return self.decoder(features, vq=False)[0].numpy()
