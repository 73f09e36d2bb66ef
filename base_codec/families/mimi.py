"""Mimi through transformers, with 8, 16 or 32 of its codebooks; also as a stream.

Encoder and decoder are causal. :class:`MimiStream` keeps their state between blocks: the last samples of each
convolution, and the keys and values of attention, which looks back over 250 steps in each layer. A stream of blocks
of 80 ms gives the same result as a whole clip, and clips over 30 s are coded as a stream of blocks of 20 s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from codec_superb.base_codec.errors import RefusedSetting
from codec_superb.base_codec.families.batching import Chunking, cut, spans
from codec_superb.base_codec.families.transformers_codec import Tokens, TransformersCodec
from codec_superb.base_codec.fitting import Audio

CONTEXT = 25
"""Steps of 40 ms of context that the decoder's convolutions get with each block; they look back less than 20."""


class MimiCodec(TransformersCodec):
    """Mimi; a card's codebooks say how many of the model's are used."""

    model_class = "MimiModel"
    model_type = "mimi"
    chunking = Chunking(limit=30, chunk=20, before=0, after=0)
    mixable = 1

    def _facts(self, config: Any) -> dict[str, int]:
        return {
            "sampling rate": config.sampling_rate, "channels": config.audio_channels, "frame length": config.frame_size,
            "codebook size": config.codebook_size, "codebooks": config.num_quantizers,
        }  # fmt: skip

    def stream(self) -> MimiStream:
        """Begin a stream: consecutive blocks of audio to tokens, and of tokens to audio."""
        return MimiStream(self)

    def _to_tokens(self, audio: torch.Tensor) -> torch.Tensor:
        codes: torch.Tensor = self.model.encode(audio, num_quantizers=self._codebooks).audio_codes
        return codes

    def _to_audio(self, tokens: torch.Tensor) -> torch.Tensor:
        audio: torch.Tensor = self.model.decode(tokens).audio_values
        return audio

    def _dequantised(self, tokens: torch.Tensor) -> torch.Tensor:
        latents: torch.Tensor = self.model.quantizer.decode(tokens)
        return latents

    def _token_parts(self, clips: Sequence[Audio], frames: int) -> Iterator[Tokens]:
        blocks = list(spans(frames, self._frame_rate, self.chunking))
        if len(blocks) == 1:
            yield from super()._token_parts(clips, frames)
            return
        stream = self.stream()
        for its in blocks:
            yield stream.encode(cut(clips, its.keep_from * self.hop, its.keep_to * self.hop))

    def _audio_parts(self, batch: Tokens) -> Iterator[Audio]:
        blocks = list(spans(batch.shape[2], self._frame_rate, self.chunking))
        if len(blocks) == 1:
            yield from super()._audio_parts(batch)
            return
        stream = self.stream()
        for its in blocks:
            yield stream.decode(batch[:, :, its.keep_from : its.keep_to])


class MimiStream:
    """One stream through Mimi; holds the state of its encoder and of its decoder."""

    def __init__(self, codec: MimiCodec) -> None:
        self._codec = codec
        self._attention: Any = None
        self._convolutions: Any = None
        self._decoder_attention: Any = None
        self._latent: torch.Tensor | None = None
        self._steps: torch.Tensor | None = None

    def encode(self, audio: Audio) -> Tokens:
        """Encode the next ``(clips, 1, frames x 1920)`` samples at 24 kHz to ``(clips, codebooks, frames)``.

        Raises RefusedSetting for a block that is not a whole number of frames.
        """
        codec = self._codec
        # the caches hold whole frames: what remains would be lost at the end of a block
        if not audio.shape[2] or audio.shape[2] % codec.hop:
            raise RefusedSetting(f"expected blocks of whole frames of {codec.hop} samples, got {audio.shape[2]}")
        with codec._inference():  # noqa: SLF001 - a stream is a part of its codec
            out = codec.model.encode(
                codec._tensor(audio).to(codec.model.dtype), num_quantizers=codec.card.codebooks,  # noqa: SLF001
                encoder_past_key_values=self._attention, padding_cache=self._convolutions, use_streaming=True,
            )  # fmt: skip
        self._attention, self._convolutions = out.encoder_past_key_values, out.padding_cache
        tokens: Tokens = out.audio_codes.int().cpu().numpy()
        return tokens

    def decode(self, tokens: Tokens) -> Audio:
        """Decode the next ``(clips, codebooks, frames)`` to ``(clips, 1, frames x 1920)`` at 24 kHz."""
        codec = self._codec
        with codec._inference():  # noqa: SLF001
            latents = codec.model.quantizer.decode(codec._tensor(tokens).long())  # noqa: SLF001
            steps = self._remembered(self._upsampled(latents))
            context = 0 if self._steps is None else self._steps.shape[2]
            # transformers streams Mimi's encoder only: the decoder's convolutions get the steps that they reach back to
            known = steps if self._steps is None else torch.cat([self._steps, steps], dim=2)
            audio = codec.model.decoder.decoder_seanet(known)
        self._steps = known[:, :, -CONTEXT:]
        samples = codec.hop * tokens.shape[2]
        out: Audio = audio[:, :, context * samples // steps.shape[2] :].float().cpu().numpy()
        return out

    def _upsampled(self, latents: torch.Tensor) -> torch.Tensor:
        """Upsample latents to the rate of the transformer; each step needs the previous latent."""
        upsample = self._codec.model.decoder.upsample
        if self._latent is None:
            out: torch.Tensor = upsample(latents)
        else:
            whole = upsample(torch.cat([self._latent, latents], dim=2))
            out = whole[:, :, whole.shape[2] // (latents.shape[2] + 1) :]
        self._latent = latents[:, :, -1:]
        return out

    def _remembered(self, steps: torch.Tensor) -> torch.Tensor:
        """Run the transformer over new steps, with the cached keys and values of the earlier ones."""
        out = self._codec.model.decoder.decoder_transformer(
            steps.transpose(1, 2), past_key_values=self._decoder_attention, use_cache=True
        )
        self._decoder_attention = out.past_key_values
        hidden: torch.Tensor = out.last_hidden_state.transpose(1, 2)
        return hidden
