"""EnCodec through transformers: 24 kHz mono, which is causal, and 48 kHz stereo, which codes chunks of one second.

The 24 kHz model pads the start of a clip by reflection, which affects the first seven frames, so clips share a batch
with longer ones only from eight frames on. Its LSTM keeps state from the whole past: a clip of more than two minutes
is coded in chunks of 30 s with 10 s of context before each, which differs from coding the whole clip by the LSTM state
from before that context.

The 48 kHz model divides each second by its loudness, a number that the decoder needs: 32 bits per chunk beside the
tokens. Chunks start every 0.99 s and are joined by overlap-add. They are independent, so long clips need no further
cutting; group normalisation over a whole chunk forbids padding, so only chunks of equal length share a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from codec_superb.base_codec.errors import CodingFailed, RefusedSetting
from codec_superb.base_codec.families.batching import Chunking, groups
from codec_superb.base_codec.families.transformers_codec import Tokens, TransformersCodec
from codec_superb.base_codec.fitting import Audio
from codec_superb.base_codec.interface import Latents, Packets

SCALE = np.dtype("<f4")
"""Data type in which a chunk's loudness is sent."""
STEREO_SECONDS_AT_ONCE = 20.0
"""Batch size of the 48 kHz model; an hour of its sound takes 1.4 GB, and a minute at once would take 2 GB more."""


class _Encodec(TransformersCodec):
    model_class = "EncodecModel"
    model_type = "encodec"

    def _facts(self, config: Any) -> dict[str, int]:
        return super()._facts(config) | {"channels": config.audio_channels}

    @property
    def _bandwidth(self) -> float:
        """Bitrate in kbps by which the model names its number of codebooks."""
        model = self.model
        for bandwidth in model.config.target_bandwidths:
            # transformers takes a bitrate, of which it makes a number of codebooks
            if model.quantizer.get_num_quantizers_for_bandwidth(bandwidth) == self._codebooks:
                return float(bandwidth)
        raise RefusedSetting(
            f"{self.card.name}: the checkpoint has the bitrates {list(model.config.target_bandwidths)} kbps, "
            f"none with {self._codebooks} codebooks"
        )


class Encodec24k(_Encodec):
    """EnCodec at 24 kHz, mono; a card's codebooks choose the bitrate."""

    chunking = Chunking(limit=120, chunk=30, before=10, after=0)
    mixable = 8

    def _to_tokens(self, audio: torch.Tensor) -> torch.Tensor:
        codes: torch.Tensor = self.model.encode(audio, bandwidth=self._bandwidth).audio_codes[0]
        return codes

    def _to_audio(self, tokens: torch.Tensor) -> torch.Tensor:
        audio: torch.Tensor = self.model.decode(tokens[None], [None]).audio_values
        return audio


class Encodec48k(_Encodec):
    """EnCodec at 48 kHz, stereo, in chunks of a second whose loudness goes beside the tokens."""

    chunking = Chunking(limit=1, chunk=1, before=0, after=0)

    def _to_tokens(self, audio: torch.Tensor) -> torch.Tensor:
        return self._chunk_to_tokens(audio)[0]

    def _to_audio(self, tokens: torch.Tensor) -> torch.Tensor:
        return self._chunk_to_audio(tokens, torch.ones(len(tokens), 1, device=tokens.device))

    def _chunk_to_tokens(self, audio: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Encode ``(chunks, 2, samples)`` to codes ``(chunks, codebooks, frames)`` and scales ``(chunks, 1)``."""
        codes, scale = self.model._encode_frame(audio, self._bandwidth)  # noqa: SLF001 - the public one cuts chunks itself
        return codes, scale

    def _chunk_to_audio(self, codes: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        audio: torch.Tensor = self.model._decode_frame(codes, scale)  # noqa: SLF001 - the public one keeps all chunks in memory
        return audio

    def _encode_batch(self, audios: Sequence[Audio]) -> list[Packets]:
        length, stride = self.model.config.chunk_length, self.model.config.chunk_stride
        places = [(clip, start) for clip, audio in enumerate(audios) for start in range(0, audio.shape[1], stride)]
        sizes = [min(length, audios[clip].shape[1] - start) for clip, start in places]
        # Results are allocated before the loop: small arrays that outlive large ones fragment the heap.
        of_clip = [
            [size for size, (its, _) in zip(sizes, places, strict=True) if its == clip] for clip in range(len(audios))
        ]
        rooms = [self._room(its) for its in of_clip]
        for group in groups(sizes, round(STEREO_SECONDS_AT_ONCE * self.card.sampling_rate), None):
            batch = np.stack([audios[places[i][0]][:, places[i][1] : places[i][1] + length] for i in group])
            with self._inference():
                codes, scale = self._chunk_to_tokens(self._tensor(batch).to(self.model.dtype))
            for row, index in enumerate(group):
                clip, number = places[index][0], places[index][1] // stride
                tokens, scales, starts = rooms[clip]
                scales[number] = float(scale[row])
                tokens[:, starts[number] : starts[number] + codes.shape[2]] = codes[row].cpu().numpy()
        return [self._packets(tokens, scales.tobytes()) for tokens, scales, _ in rooms]

    def _room(self, sizes: Sequence[int]) -> tuple[Tokens, NDArray[np.float32], list[int]]:
        """Return empty arrays for the tokens and scales of a clip with chunks of ``sizes``, and each first frame."""
        frames = sum(ceil(size / self.hop) for size in sizes)
        tokens, scales = np.zeros((self._codebooks, frames), dtype=np.int32), np.zeros(len(sizes), dtype=SCALE)
        return tokens, scales, self._starts(frames, len(sizes))

    def _starts(self, frames: int, chunks: int) -> list[int]:
        """Return the first frame of each chunk. All chunks but the last are whole, with one exception.

        Where the clip ends less than half a frame into its last chunk, that chunk has one frame, and the chunk before
        it, which ends at the same sample, lacks one: only then no frame remains after all the whole chunks.
        """
        whole = ceil(self.model.config.chunk_length / self.hop)
        if not whole * (chunks - 1) <= frames <= whole * chunks:
            raise CodingFailed(
                f"{self.card.name}: expected a scale for each of {ceil(frames / whole)} chunks, got {chunks}"
            )
        starts = [whole * number for number in range(chunks)]
        starts[-1] = min(starts[-1], frames - 1)
        return starts

    def _latents(self, audio: Audio) -> Latents:  # noqa: ARG002 - none of any
        raise RefusedSetting(
            f"{self.card.name} codes chunks that overlap, each divided by its loudness, and has no latents of a whole "
            "clip; name a codec that has them, such as encodec_24k_6bps"
        )

    def _decode_batch(self, received: Sequence[tuple[Packets, int]]) -> list[Audio]:
        return [self._decode_chunks(packets) for packets, _ in received]

    def _decode_chunks(self, packets: Packets) -> Audio:
        """Decode one clip, some chunks at a time, each added where it belongs."""
        tokens, scales = self._checked(packets), self._scales(packets)
        starts = self._starts(tokens.shape[1], scales.size)
        ends = [*starts[1:], tokens.shape[1]]
        sizes = [end - start for start, end in zip(starts, ends, strict=True)]
        mix = _OverlapAdd(len(starts), sizes[-1] * self.hop, self.model.config, max(self.card.channels))
        for group in groups(sizes, round(STEREO_SECONDS_AT_ONCE * self._frame_rate), None):
            batch = np.stack([tokens[:, starts[i] : ends[i]] for i in group])
            with self._inference():
                scale = self._tensor(scales[group, None]).to(self.model.dtype)
                audio = self._chunk_to_audio(self._tensor(batch).long(), scale).float().cpu().numpy()
            for row, index in enumerate(group):
                mix.add(index, audio[row])
        return mix.result()

    def _scales(self, packets: Packets) -> NDArray[np.float32]:
        if len(packets.side) % SCALE.itemsize:
            raise CodingFailed(f"{self.card.name}: expected scales of 4 bytes, got {len(packets.side)} bytes")
        return np.frombuffer(packets.side, dtype=SCALE).astype(np.float32)


class _OverlapAdd:
    """Overlap-add of chunks with triangular windows; the sum is divided by the sum of the windows."""

    def __init__(self, chunks: int, last: int, config: Any, channels: int) -> None:
        length, self._stride, self._chunks = config.chunk_length, config.chunk_stride, chunks
        full = length if chunks > 1 else last
        # the triangle with which EnCodec's overlap-add weighs chunks; no weight is 0, by which the sum is divided
        ramp = np.linspace(0, 1, full + 2, dtype=np.float32)[1:-1]
        self._weight = 0.5 - np.abs(ramp - 0.5)
        self._audio = np.zeros((channels, self._stride * (chunks - 1) + last), dtype=np.float32)

    def add(self, index: int, chunk: Audio) -> None:
        """Add the chunk ``(channels, samples)`` whose number is ``index``."""
        start = index * self._stride
        end = min(start + chunk.shape[1], self._audio.shape[1])
        self._audio[:, start:end] += self._weight[: end - start] * chunk[:, : end - start]

    def result(self) -> Audio:
        """Return the mixture, normalised a stride at a time so that no window of the clip's length is allocated."""
        for index in range(self._chunks):
            end = (index + 1) * self._stride if index + 1 < self._chunks else self._audio.shape[1]
            part = self._audio[:, index * self._stride : end]
            part /= self._weights(index)[: part.shape[1]]
        return self._audio

    def _weights(self, index: int) -> NDArray[np.float32]:
        """Sum the windows of all chunks that reach past the start of chunk ``index``, from that sample on."""
        total = np.zeros(self._weight.size, dtype=np.float32)
        for before in range(min(index, (self._weight.size - 1) // self._stride), -1, -1):
            rest = self._weight[before * self._stride :]
            total[: rest.size] += rest
        return total
