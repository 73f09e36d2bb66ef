"""NeuCodec through transformers: the X-Codec 2 architecture with 16 kHz input and 24 kHz output.

A clip is resampled directly to 16 kHz; the output is resampled from 24 kHz. The published feature extractor drops the
samples after the last whole frame; here they are padded with silence to a frame, so that nothing is lost. As in the
published extractor, the encoder gets one more frame of silence, which has no token.
"""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import torch

from codec_superb.base_codec import fitting
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import RefusedSetting
from codec_superb.base_codec.families.xcodec2 import SPECTRA_RATE, XCodec2
from codec_superb.base_codec.fitting import Audio


class NeuCodec(XCodec2):
    """NeuCodec: one token of 16 bits for each 20 ms; the card's sampling rate is that of the decoder."""

    model_class = "NeuCodecModel"
    model_type = "neucodec"

    def __init__(self, card: Card, folder: Path) -> None:
        super().__init__(card, folder)
        self.hop_in = round(SPECTRA_RATE / self._frame_rate)

    def _refuse_other_model(self, model: Any) -> None:
        super()._refuse_other_model(model)
        if model.config.input_sampling_rate != SPECTRA_RATE:
            raise RefusedSetting(
                f"{self.card.name}: the checkpoint in {self.folder} takes audio at {model.config.input_sampling_rate} "
                f"Hz, not {SPECTRA_RATE}"
            )

    def _facts(self, config: Any) -> dict[str, int]:
        return {
            "sampling rate": config.output_sampling_rate, "channels": 1, "frame length": config.hop_length,
            "codebook size": prod(config.quantization_levels), "codebooks": 1,
        }  # fmt: skip

    def _coded(self, audio: Audio, rate: int) -> Audio:
        fitting.check_audio(audio, rate)
        return fitting.fit(audio, rate, SPECTRA_RATE, self.card.channels)

    def _to_tokens(self, audio: torch.Tensor) -> torch.Tensor:
        longer = torch.nn.functional.pad(audio, (0, self.hop_in))
        return self._tokens_of(longer, longer)
