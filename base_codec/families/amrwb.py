"""AMR-WB (ITU-T G.722.2) at its nine rates: VisualOn's encoder (libvo-amrwbenc) and opencore-amr's decoder in PyAV.

The encoder returns frames in the storage format of RFC 4867: an octet with the frame type, and the speech bits, padded
to whole octets. ``bits`` counts the speech bits of the type, which gives the standard's own rates. Discontinuous
transmission is off. A lost frame is given to the decoder as the frame type 14 (speech lost), which it conceals.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

import av
import numpy as np

from codec_superb.base_codec import system
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodingFailed, RefusedSetting
from codec_superb.base_codec.families.frames import DecodeFrame, EncodeFrame, FrameCodec, Samples, declare, pointer
from codec_superb.base_codec.families.libav import new_context

# 3GPP TS 26.201: speech bits of the frame types 0 to 8, 6.60 to 23.85 kbit/s
BITS = {6600: 132, 8850: 177, 12650: 253, 14250: 285, 15850: 317, 18250: 365, 19850: 397, 23050: 461, 23850: 477}
SPEECH_LOST = bytes([14 << 3 | 4])
"""A frame of RFC 4867's storage format without speech bits: type 14, quality bit set."""


class AmrWb(FrameCodec):
    """AMR-WB at one rate; ``settings`` holds ``bit_rate`` in bits per second."""

    frame = 320

    def __init__(self, card: Card) -> None:
        super().__init__(card)
        rate = card.settings.get("bit_rate")
        if rate not in BITS or card.sampling_rate != 16000 or card.channels != (1,):  # noqa: PLR2004 - 16 kHz
            raise RefusedSetting(
                f"{card.name}: AMR-WB has {list(BITS)} bit/s at 16000 Hz, mono; "
                f"got {rate} at {card.sampling_rate} Hz, channels {card.channels}"
            )
        self._mode, self._bits = list(BITS).index(rate), BITS[rate]
        self._library = system.library(card)
        declare(
            self._library,
            E_IF_init=(ctypes.c_void_p,),
            E_IF_encode=(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int),
            E_IF_exit=(None, ctypes.c_void_p),
        )

    @contextmanager
    def _encoder(self) -> Iterator[EncodeFrame]:
        state = self._library.E_IF_init()
        packet = ctypes.create_string_buffer(1 + (max(BITS.values()) + 7) // 8)

        def encode(samples: Samples) -> tuple[bytes, int]:
            size = self._library.E_IF_encode(state, self._mode, pointer(samples), packet, 0)
            return packet.raw[:size], self._bits

        try:
            yield encode
        finally:
            self._library.E_IF_exit(state)

    @contextmanager
    def _decoder(self) -> Iterator[DecodeFrame]:
        context = new_context("libopencore_amrwb", "r")
        context.sample_rate, context.layout = self.card.sampling_rate, "mono"

        def decode(packet: bytes | None) -> Samples:
            if packet is not None:
                self._check_packet(packet, 1 + (self._bits + 7) // 8)
            try:
                frames = context.decode(av.Packet(SPEECH_LOST if packet is None else packet))
            except av.FFmpegError as error:
                raise CodingFailed(f"{self.card.name}: libopencore_amrwb could not decode: {error}") from error
            return np.concatenate([frame.to_ndarray().reshape(-1) for frame in frames])

        yield decode
