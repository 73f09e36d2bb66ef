"""X-Codec through transformers: an acoustic and a semantic encoder (HuBERT or WavLM) share one residual quantiser.

The semantic encoder attends to the whole clip and normalises over it, so only clips of equal length share a batch. A
clip over 60 s is coded in chunks of 30 s with 5 s of context on both sides, which gives other tokens than coding the
whole clip.
"""

from __future__ import annotations

from typing import Any

import torch

from codec_superb.base_codec.errors import RefusedSetting
from codec_superb.base_codec.families.batching import Chunking
from codec_superb.base_codec.families.transformers_codec import TransformersCodec


class XCodec(TransformersCodec):
    """X-Codec; a card's codebooks choose the bitrate."""

    model_class = "XcodecModel"
    model_type = "xcodec"
    chunking = Chunking(limit=60, chunk=30, before=5, after=5)
    compiled = ("acoustic_encoder", "acoustic_decoder")

    def _facts(self, config: Any) -> dict[str, int]:
        return {
            "sampling rate": config.sample_rate, "channels": 1, "frame length": config.hop_length,
            "codebook size": config.codebook_size, "codebooks": config.num_quantizers,
        }  # fmt: skip

    @property
    def _bandwidth(self) -> float:
        """Bitrate in kbps by which the model names its number of codebooks."""
        bandwidths: list[float] = list(self.model.config.target_bandwidths)
        for bandwidth in bandwidths:
            if self.model.quantizer.get_num_quantizers_for_bandwidth(bandwidth) == self._codebooks:
                return bandwidth
        raise RefusedSetting(
            f"{self.card.name}: the checkpoint has the bitrates {bandwidths} kbps, none with {self._codebooks} "
            "codebooks"
        )

    def _to_tokens(self, audio: torch.Tensor) -> torch.Tensor:
        codes: torch.Tensor = self.model.encode(audio, bandwidth=self._bandwidth).audio_codes
        return codes

    def _to_audio(self, tokens: torch.Tensor) -> torch.Tensor:
        audio: torch.Tensor = self.model.decode(tokens).audio_values
        return audio
