"""Guest for S3Tokenizer, the speech tokenizer of CosyVoice, with the package ``s3tokenizer``; it has no decoder."""

from __future__ import annotations

from typing import Any

import guest_tools

FEWEST_SAMPLES = 201
"""Shortest clip: the STFT pads half a window of 400 samples by reflection at both ends."""


def weights(card: dict[str, Any]) -> list[guest_tools.Download]:
    """Return what the guest opens."""
    return [guest_tools.Download(f"{card['settings']['model']}.onnx")]


class Guest:
    """One codebook, or FSQ with eight ternary digits (version 2); trained by speech recognition."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import s3tokenizer  # type: ignore[import-not-found]  # in the private environment alone
        import torch
        from s3tokenizer import model, model_v2

        self.torch, self.package = torch, s3tokenizer
        name = card["settings"]["model"]
        file = guest_tools.weights_file(card, *weights(card)[0])
        guest_tools.expect_hash(card, file)
        version_2 = "v2" in name
        self.model = model_v2.S3TokenizerV2(name) if version_2 else model.S3Tokenizer(name)
        self.model.init_from_onnx(str(file))  # raises where a parameter is missing
        self.model.eval().to(device)
        hop = 160 * self.model.encoder.stride * 2
        guest_tools.expect(
            card, sampling_rate=16000, codebooks=1, codebook_size=self.model.config.n_codebook_size,
            frame_rate=16000 / hop,
        )  # fmt: skip

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(1, frames)`` of mono audio; the package divides clips longer than 30 s."""
        if audio.shape[1] < FEWEST_SAMPLES:
            raise ValueError(f"expected {FEWEST_SAMPLES} samples at 16 kHz or more, got {audio.shape[1]}")
        with self.torch.inference_mode():
            mel = self.package.log_mel_spectrogram(self.torch.from_numpy(audio[0]))
            codes, lengths = self.model.quantize(mel[None], self.torch.tensor([mel.shape[1]]))
        return codes[:, : int(lengths[0])].numpy()
