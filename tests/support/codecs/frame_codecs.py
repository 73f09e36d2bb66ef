"""Codecs of tokens whose answers are known, given as ``frame_codecs.py:Class``: where the top of each frame lies."""

from __future__ import annotations

import time
from pathlib import Path
from typing import ClassVar

import numpy as np

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.fitting import Audio
from codec_superb.base_codec.interface import Codec, Packets

HERE = str(Path(__file__).resolve())
FRAME, COARSE, FINE = 160, 16, 5


class Levels(Codec):
    """Keeps the largest sample of each frame of 10 ms in 16 steps and a fifth of a step; has no memory.

    What it decodes to is that level throughout the frame, so that it is coded the same again.
    """

    card: ClassVar[Card] = Card(  # type: ignore[misc]  # the contract of codecs given as a file
        name="levels", sampling_rate=16_000, frame_rate=100.0, codebooks=2, codebook_sizes=(COARSE, FINE)
    )

    def _encode(self, audio: Audio) -> Packets:
        """Find the level of each frame."""
        frames = np.pad(audio[0], (0, -audio.shape[1] % FRAME)).reshape(-1, FRAME)
        steps = COARSE * FINE
        level = np.clip(np.floor((np.abs(frames).max(axis=1)) * steps), 0, steps - 1).astype(np.int32)
        return Packets(np.stack([level // FINE, level % FINE]))

    def _decode(self, packets: Packets, channels: int) -> Audio:
        """Return the middle of the step."""
        assert not isinstance(packets.payload, bytes)
        coarse, fine = packets.payload
        level = (coarse * FINE + fine + 0.5) / (COARSE * FINE)
        return np.repeat(level.astype(np.float32), FRAME)[None]


class SlowLevels(Levels):
    """The same, a few milliseconds a clip later."""

    card: ClassVar[Card] = Levels.card.model_copy(update={"name": "slow_levels"})

    def _encode(self, audio: Audio) -> Packets:
        """Wait, then encode."""
        time.sleep(0.002)
        return super()._encode(audio)


class WholeFrames(Levels):
    """The same of whole frames alone: a clip that is shorter has none."""

    card: ClassVar[Card] = Levels.card.model_copy(update={"name": "whole_frames"})

    def _encode(self, audio: Audio) -> Packets:
        """Leave out the rest."""
        return super()._encode(audio[:, : audio.shape[1] // FRAME * FRAME])

    def _decode(self, packets: Packets, channels: int) -> Audio:
        """Return silence in place of the rest."""
        return np.pad(super()._decode(packets, channels), ((0, 0), (0, FRAME)))
