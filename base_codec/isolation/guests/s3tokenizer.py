"""S3Tokenizer, the speech tokenizer of CosyVoice, run by the package ``s3tokenizer``; there is no way back to sound."""

from __future__ import annotations

from typing import Any

import guest_tools

FEWEST_SAMPLES = 201
"""The spectrum mirrors half a window of 400 samples at both ends."""


class Guest:
    """One codebook, or a lattice of eight ternary digits (version 2); trained by recognising speech."""

    def __init__(self, card: dict[str, Any], device: str) -> None:
        import s3tokenizer  # type: ignore[import-not-found]  # in the private environment alone
        import torch
        from s3tokenizer import model, model_v2

        self.torch, self.package = torch, s3tokenizer
        name = card["settings"]["model"]
        file = guest_tools.weights_file(card, f"{name}.onnx")
        guest_tools.expect_hash(card, file)
        version_2 = "v2" in name
        self.model = model_v2.S3TokenizerV2(name) if version_2 else model.S3Tokenizer(name)
        self.model.init_from_onnx(str(file))  # every parameter must be there
        self.model.eval().to(device)
        hop = 160 * self.model.encoder.stride * 2
        guest_tools.expect(
            card, sampling_rate=16000, codebooks=1, codebook_size=self.model.config.n_codebook_size,
            frame_rate=16000 / hop,
        )  # fmt: skip

    def encode(self, audio: Any) -> Any:
        """Return tokens ``(1, frames)`` of mono audio; the package divides what is longer than 30 s."""
        if audio.shape[1] < FEWEST_SAMPLES:
            raise ValueError(f"expected {FEWEST_SAMPLES} samples at 16 kHz or more, got {audio.shape[1]}")
        with self.torch.inference_mode():
            mel = self.package.log_mel_spectrogram(self.torch.from_numpy(audio[0]))
            codes, lengths = self.model.quantize(mel[None], self.torch.tensor([mel.shape[1]]))
        return codes[:, : int(lengths[0])].numpy()
