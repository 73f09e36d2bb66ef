"""Higgs Audio V2's tokeniser through transformers: the X-Codec architecture at 24 kHz with 25 frames per second.

The semantic encoder (HuBERT) takes the clip at 16 kHz; the model resamples it with torchaudio, which it uses for
nothing else. It attends to the whole clip and normalises over it, with the same consequences for batches and long
clips as in X-Codec; chunks are shorter, since with 30 s an hour of sound needs almost 4 GB.
"""

from __future__ import annotations

import importlib.util
from typing import Self

from codec_superb.base_codec.errors import MissingDependency
from codec_superb.base_codec.families.batching import Chunking
from codec_superb.base_codec.families.xcodec import XCodec
from codec_superb.missing_package import not_installed


class HiggsAudioV2(XCodec):
    """Higgs Audio V2's tokeniser; a card's codebooks choose the bitrate."""

    model_class = "HiggsAudioV2TokenizerModel"
    model_type = "higgs_audio_v2_tokenizer"
    chunking = Chunking(limit=60, chunk=20, before=5, after=5)

    def load(self, device: str = "cpu") -> Self:
        """Build the model as every family does. Raises MissingDependency where torchaudio is not installed."""
        if importlib.util.find_spec("torchaudio") is None:
            raise MissingDependency(not_installed(self.card.name, "torchaudio", "torchaudio>=2.6"))
        return super().load(device)
