"""Descript Audio Codec through transformers, at 16, 24 and 44.1 kHz, with any number of its codebooks.

It is purely convolutional, with a look-ahead of 0.21 to 0.38 s (encoder and decoder together, measured by gradients;
the latency on the cards) and as much look-back. Chunks with a second of context on both sides give the same result as
coding the whole clip, so clips over 20 s are always coded in chunks of 10 s. It is not causal: only clips of equal
length share a batch. Its strides of five lose samples at the end of the decoder's output (8 at 16 and 24 kHz); a clip
whose last frame would be affected gets one more frame.
"""

from __future__ import annotations

from typing import Any

import torch

from codec_superb.base_codec.families.batching import Chunking
from codec_superb.base_codec.families.transformers_codec import TransformersCodec


class DacCodec(TransformersCodec):
    """DAC; a card's codebooks say how many of the model's are used."""

    model_class = "DacModel"
    model_type = "dac"
    quantizing = "forward"
    chunking = Chunking(limit=20, chunk=10, before=1, after=1)

    def _facts(self, config: Any) -> dict[str, int]:
        return {
            "sampling rate": config.sampling_rate, "channels": 1, "frame length": config.hop_length,
            "codebook size": config.codebook_size, "codebooks": config.n_codebooks,
        }  # fmt: skip

    def _lost_samples(self) -> int:
        lost = 0
        for stride in self.model.config.upsampling_ratios:
            # A transposed convolution of kernel 2s, stride s, padding ceil(s / 2): s samples for each, less s % 2.
            lost = lost * stride + stride % 2
        return lost

    def _to_tokens(self, audio: torch.Tensor) -> torch.Tensor:
        codes: torch.Tensor = self.model.encode(audio, n_quantizers=self._codebooks).audio_codes
        return codes

    def _dequantised(self, tokens: torch.Tensor) -> torch.Tensor:
        latents: torch.Tensor = self.model.quantizer.from_codes(tokens)[0]
        return latents

    def _to_audio(self, tokens: torch.Tensor) -> torch.Tensor:
        audio: torch.Tensor = self.model.decode(audio_codes=tokens).audio_values
        return audio[:, None]
