"""X-Codec 2 through transformers: one codebook of 65,536 over an acoustic encoder and Wav2Vec2-BERT.

The semantic encoder takes Kaldi's mel spectra, normalised over the clip. They are computed here in float32 whatever
precision the model has, with the extractor that the model was published with: transformers' newer one needs torchaudio.
Encoder and decoder attend to the whole clip and normalise over it, so only clips of equal length share a batch. A clip
over 60 s is coded in chunks of 8 s with 4 s of context on both sides, which gives other tokens and other audio than
coding the whole clip. With longer chunks an hour of sound at 44.1 kHz needs more than 4 GB of memory.

The published extractor adds a frame of silence to a clip that is a whole number of frames long; here none is added.
Every other clip is padded as in the published extractor and has the same tokens.
"""

from __future__ import annotations

from math import prod
from typing import Any, Self

import numpy as np
import torch
import transformers

from codec_superb.base_codec.families.batching import Chunking
from codec_superb.base_codec.families.channel_blocks import use_blockwise_activations
from codec_superb.base_codec.families.relative_attention import use_blockwise_attention
from codec_superb.base_codec.families.transformers_codec import TransformersCodec

SPECTRA_RATE = 16000
"""Hz at which the semantic encoder's mel spectra are taken."""


class XCodec2(TransformersCodec):
    """X-Codec 2: one token of 16 bits for each 20 ms."""

    model_class = "Xcodec2Model"
    model_type = "xcodec2"
    chunking = Chunking(limit=60, chunk=8, before=4, after=4)
    compiled = ("acoustic_encoder", "acoustic_decoder")
    quantizing = "forward"
    input_dtype = "float32"
    _extractor: Any = None

    def load(self, device: str = "cpu") -> Self:
        """Build the model as every family does, and the extractor of the mel spectra."""
        super().load(device)
        use_blockwise_attention(self.model.semantic_encoder)
        if not self._settings.compile:  # torch.compile fuses these element-wise steps without the large arrays
            use_blockwise_activations(self.model.acoustic_encoder)
        extractor = transformers.SeamlessM4TFeatureExtractor
        self._extractor = extractor(sampling_rate=SPECTRA_RATE)  # type: ignore[no-untyped-call] # transformers' own
        return self

    def _facts(self, config: Any) -> dict[str, int]:
        return {
            "sampling rate": config.sampling_rate, "channels": 1, "frame length": config.hop_length,
            "codebook size": prod(config.quantization_levels), "codebooks": 1,
        }  # fmt: skip

    def _to_tokens(self, audio: torch.Tensor) -> torch.Tensor:
        half = self.hop_in // 2
        return self._tokens_of(audio, torch.nn.functional.pad(audio, (half, half)))

    def _tokens_of(self, audio: torch.Tensor, heard: torch.Tensor) -> torch.Tensor:
        """Encode ``audio``; the semantic encoder gets the spectra of ``heard``, two per token frame."""
        features = self._tensor(np.stack([self._spectra(clip) for clip in heard[:, 0].cpu().numpy()]))
        dtype = self.model.dtype
        codes: torch.Tensor = self.model.encode(audio.to(dtype), input_features=features.to(dtype)).audio_codes
        return codes

    def _spectra(self, clip: np.ndarray[Any, np.dtype[np.float32]]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Return ``(frames, 160)``: two mel spectra of 80 bands a frame, normalised over the clip alone."""
        features = self._extractor(clip, sampling_rate=SPECTRA_RATE, return_tensors="np")["input_features"][0]
        return np.asarray(features, dtype=np.float32)

    def _dequantised(self, tokens: torch.Tensor) -> torch.Tensor:
        latents: torch.Tensor = self.model.quantizer.from_codes(tokens.transpose(1, 2))
        return latents

    def _rows(self, latents: torch.Tensor) -> np.ndarray[Any, np.dtype[np.float32]]:
        return super()._rows(latents.T)  # its quantizer has the frames first

    def _to_audio(self, tokens: torch.Tensor) -> torch.Tensor:
        audio: torch.Tensor = self.model.decode(tokens).audio_values
        return audio
