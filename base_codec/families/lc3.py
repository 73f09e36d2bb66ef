"""LC3, the codec of Bluetooth LE Audio, through liblc3 (package lc3py).

The payload holds frames of constant size, channel after channel within each time step; LC3 has no header. The bitrate
of a card is the total over all channels. The delay is the one that liblc3 reports (2.5 ms of look-ahead at 10 ms
frames).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import Any

import lc3
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from codec_superb.base_codec import fitting
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodingFailed, RefusedSetting
from codec_superb.base_codec.fitting import Audio
from codec_superb.base_codec.interface import Codec, Encoded, Packets
from codec_superb.base_codec.packets import arrived

FRAME_BYTES = range(20, 401)
"""Bytes of one channel's frame that the specification of LC3 (Bluetooth SIG) allows: 20 to 400."""


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
            with self._coders(lc3.Encoder, 1) as (encoder,):
                self._frame = encoder.get_frame_samples()
                delay = encoder.get_delay_samples()
        except (ValidationError, lc3.BaseError) as error:
            raise RefusedSetting(
                f"{card.name}: liblc3 refuses {card.sampling_rate} Hz, {card.settings}: {error}"
            ) from error
        if delay != card.delay_samples:
            raise RefusedSetting(f"{card.name}: liblc3 states a delay of {delay} samples, not {card.delay_samples}")
        for channels in card.channels:
            self._frame_bytes(channels)

    def _frame_bytes(self, channels: int) -> int:
        """Bytes of one frame of one channel. Raises RefusedSetting where LC3 has no such frame."""
        bits = self._settings.bit_rate * self._settings.frame_duration_us // 1_000_000
        size, rest = divmod(bits, 8 * channels)
        if rest or size not in FRAME_BYTES:
            raise RefusedSetting(
                f"{self.card.name}: {self._settings.bit_rate} bit/s makes frames of {bits / 8 / channels:g} bytes for "
                f"each of {channels} channels, LC3 has whole ones from {FRAME_BYTES.start} to {FRAME_BYTES.stop - 1}"
            )
        return size

    @contextmanager
    def _coders(self, kind: type[Any], channels: int) -> Iterator[list[Any]]:
        """Create a coder for each channel, and free them at the end."""
        # a coder for each channel: LC3 has no joint coding of channels
        coders = [kind(self._settings.frame_duration_us, self.card.sampling_rate, 1) for _ in range(channels)]
        try:
            yield coders
        finally:
            for coder in coders:
                _release(coder)

    def _encode(self, audio: Audio) -> Packets:
        size = self._frame_bytes(audio.shape[0])
        padded = np.pad(audio, ((0, 0), (0, -audio.shape[1] % self._frame)))
        starts = range(0, padded.shape[1], self._frame)
        try:
            with self._coders(lc3.Encoder, audio.shape[0]) as coders:
                frames = [
                    coder.encode(channel[start : start + self._frame].tobytes(), size)
                    for start in starts
                    for coder, channel in zip(coders, padded, strict=True)
                ]
        except lc3.BaseError as error:
            raise CodingFailed(f"{self.card.name}: liblc3 could not encode: {error}") from error
        return Packets(b"".join(frames), 8 * size * len(frames), (size,) * len(frames))

    def _packet_count(self, encoded: Encoded) -> int:
        return len(encoded.frames) // fitting.channels_coded(encoded.channels, self.card.channels)

    def _decode(self, packets: Packets, channels: int) -> Audio:
        return self._decode_lossy(packets, np.zeros(len(packets.frames) // channels, dtype=np.bool_), channels)

    def _decode_lossy(self, packets: Packets, lost: NDArray[np.bool_], channels: int) -> Audio:
        size, payload = self._frame_bytes(channels), packets.payload
        if not isinstance(payload, bytes) or not payload or len(payload) % (size * channels):
            raise CodingFailed(
                f"{self.card.name}: expected whole frames of {size * channels} bytes, got {len(payload)}"
            )
        pieces = arrived(payload, packets.frames, np.repeat(lost, channels))
        try:
            with self._coders(lc3.Decoder, channels) as coders:
                frames = [
                    np.frombuffer(_conceal(coder) if piece is None else coder.decode(piece), dtype=np.float32)
                    for coder, piece in zip(cycle(coders), pieces, strict=False)
                ]
        except lc3.BaseError as error:
            raise CodingFailed(f"{self.card.name}: liblc3 could not decode: {error}") from error
        return np.stack([np.concatenate(frames[channel::channels]) for channel in range(channels)])


def _conceal(coder: Any) -> Any:
    """Return what liblc3 makes of a missing frame: lc3_decode of no bytes, which lc3py has no call for."""
    frame = (ctypes.c_float * coder.get_frame_samples())()
    # lc3.h: LC3_PCM_FORMAT_FLOAT is 3, and 1 is the step from sample to sample
    (state,) = vars(coder)["_Decoder__decoders"]
    coder.lib.lc3_decode(state, None, 0, 3, frame, 1)
    return frame


def _release(coder: Any) -> None:
    """Free the native states: lc3py 1.1 makes its destructor's loop a generator that never runs, and leaks them."""
    name = type(coder).__name__
    states = vars(coder).get(f"_{name}__{name.lower()}s", [])
    while states:
        coder.free(states.pop())
