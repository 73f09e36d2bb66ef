"""LC3, the codec of Bluetooth LE Audio, through liblc3 (lc3py).

The payload is the frames of each channel, one block of constant size every frame; LC3 has no header. The bitrate of
a card is over all channels, so stereo shares it. Delay: what liblc3 itself states (2.5 ms look-ahead).
"""

from __future__ import annotations

import lc3
import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodingFailed, RefusedSetting
from codec_superb.base_codec.fitting import Audio
from codec_superb.base_codec.interface import Codec, Packets

FRAME_BYTES = range(20, 401)
"""Sizes of one channel's frame that the specification allows."""


class Lc3Settings(BaseModel):
    """What a card's ``settings`` may hold for LC3."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    bit_rate: int
    """Bits per second over all channels."""
    frame_duration_us: int = 10_000


class Lc3Codec(Codec):
    """LC3 at a constant bitrate."""

    def __init__(self, card: Card) -> None:
        super().__init__(card)
        try:
            self._settings = Lc3Settings.model_validate(card.settings)
            lc3.Encoder(self._settings.frame_duration_us, card.sampling_rate, max(card.channels))
        except (ValidationError, lc3.BaseError) as error:
            raise RefusedSetting(
                f"{card.name}: liblc3 refuses {card.sampling_rate} Hz, {card.settings}: {error}"
            ) from error
        for channels in card.channels:
            self._frame_bytes(channels)

    def _frame_bytes(self, channels: int) -> int:
        """Bytes of one frame of all channels together."""
        size = self._settings.bit_rate * self._settings.frame_duration_us // 8_000_000
        if size // channels not in FRAME_BYTES or -(-size // channels) not in FRAME_BYTES:
            raise RefusedSetting(
                f"{self.card.name}: {self._settings.bit_rate} bit/s makes frames of {size / channels:g} bytes for each "
                f"of {channels} channels, LC3 has {FRAME_BYTES.start} to {FRAME_BYTES.stop - 1}"
            )
        return size

    def _encode(self, audio: Audio) -> Packets:
        channels = audio.shape[0]
        size = self._frame_bytes(channels)
        encoder = lc3.Encoder(self._settings.frame_duration_us, self.card.sampling_rate, channels)
        frame = encoder.get_frame_samples()
        padded = np.pad(audio, ((0, 0), (0, -audio.shape[1] % frame)))
        try:
            blocks = [
                encoder.encode(np.ascontiguousarray(padded[:, start : start + frame].T).ravel().tolist(), size)
                for start in range(0, padded.shape[1], frame)
            ]
        except lc3.BaseError as error:
            raise CodingFailed(f"{self.card.name}: liblc3 could not encode: {error}") from error
        finally:
            _release(encoder)
        return Packets(b"".join(blocks), 8 * sum(map(len, blocks)), tuple(map(len, blocks)))

    def _decode(self, packets: Packets, channels: int) -> Audio:
        size = self._frame_bytes(channels)
        payload = packets.payload
        if not isinstance(payload, bytes) or not payload or len(payload) % size:
            raise CodingFailed(f"{self.card.name}: expected whole frames of {size} bytes, got {len(packets.payload)}")
        decoder = lc3.Decoder(self._settings.frame_duration_us, self.card.sampling_rate, channels)
        try:
            blocks = [
                np.frombuffer(decoder.decode(payload[start : start + size]), dtype=np.float32)
                for start in range(0, len(payload), size)
            ]
        except lc3.BaseError as error:
            raise CodingFailed(f"{self.card.name}: liblc3 could not decode: {error}") from error
        finally:
            _release(decoder)
        return np.ascontiguousarray(np.concatenate(blocks).reshape(-1, channels).T)


def _release(coder: lc3.Encoder | lc3.Decoder) -> None:
    """Free the native states: lc3py 1.1 makes its destructor's loop a generator that never runs, and leaks them."""
    name = f"_{type(coder).__name__}__{type(coder).__name__.lower()}s"
    states = coder.__dict__.get(name, [])
    while states:
        coder.free(states.pop())
