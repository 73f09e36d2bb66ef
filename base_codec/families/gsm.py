"""GSM 06.10 full rate through soundfile, whose libsndfile carries it.

A frame is 160 samples in 260 bits. In libsndfile's headerless GSM 6.10 it takes 33 bytes, whose first four bits are a
mark (0xD): ``bits`` counts 260, which gives 13 kbit/s exactly. The decoder has no concealment of its own.
"""

from __future__ import annotations

import io

import numpy as np
import soundfile

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodingFailed, RefusedSetting
from codec_superb.base_codec.families.pcm import from_pcm, to_int16
from codec_superb.base_codec.fitting import Audio
from codec_superb.base_codec.interface import Codec, Packets

FRAME, BITS, BYTES = 160, 260, 33
_FORM = {"samplerate": 8000, "format": "RAW", "subtype": "GSM610"}


class Gsm(Codec):
    """GSM full rate."""

    def __init__(self, card: Card) -> None:
        super().__init__(card)
        if card.settings or card.sampling_rate != _FORM["samplerate"] or card.channels != (1,):
            raise RefusedSetting(
                f"{card.name}: GSM 06.10 has one rate, at 8000 Hz, mono, and no settings; "
                f"got {card.settings} at {card.sampling_rate} Hz, channels {card.channels}"
            )

    def _encode(self, audio: Audio) -> Packets:
        samples = np.pad(to_int16(audio[0]), (0, -audio.shape[1] % FRAME))
        file = io.BytesIO()
        soundfile.write(file, samples, **_FORM)
        frames = samples.size // FRAME
        return Packets(file.getvalue(), frames * BITS, (BYTES,) * frames)

    def _decode(self, packets: Packets, channels: int) -> Audio:
        payload = packets.payload
        if not isinstance(payload, bytes) or not payload or len(payload) % BYTES:
            raise CodingFailed(f"{self.card.name}: expected whole frames of {BYTES} bytes, got {len(payload)}")
        samples, _ = soundfile.read(io.BytesIO(payload), channels=channels, dtype="int16", always_2d=True, **_FORM)
        return from_pcm(samples.T)
