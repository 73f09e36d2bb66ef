"""ITU-T G.729 Annex A at 8 kbit/s, through libbcg729.

A frame is 10 ms in 80 bits. Voice activity detection (Annex B) is off. A lost frame is given to the decoder with its
erasure flag, and it conceals it as the recommendation describes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from codec_superb.base_codec import system
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import RefusedSetting
from codec_superb.base_codec.families.frames import DecodeFrame, EncodeFrame, FrameCodec, Samples, declare, pointer

BYTES = 10
"""Bytes of a frame of speech, of which every bit is used."""


class G729(FrameCodec):
    """G.729 Annex A."""

    frame = 80

    def __init__(self, card: Card) -> None:
        super().__init__(card)
        if card.settings or card.sampling_rate != 8000 or card.channels != (1,):  # noqa: PLR2004 - 8 kHz
            raise RefusedSetting(
                f"{card.name}: G.729 Annex A has one rate, at 8000 Hz, mono, and no settings; "
                f"got {card.settings} at {card.sampling_rate} Hz, channels {card.channels}"
            )
        self._library = system.library(card)
        state, byte, data = ctypes.c_void_p, ctypes.c_uint8, ctypes.c_char_p
        declare(
            self._library,
            initBcg729EncoderChannel=(state, byte),
            bcg729Encoder=(None, state, ctypes.c_void_p, data, ctypes.POINTER(byte)),
            closeBcg729EncoderChannel=(None, state),
            initBcg729DecoderChannel=(state,),
            bcg729Decoder=(None, state, data, byte, byte, byte, byte, ctypes.c_void_p),
            closeBcg729DecoderChannel=(None, state),
        )

    @contextmanager
    def _encoder(self) -> Iterator[EncodeFrame]:
        state = self._library.initBcg729EncoderChannel(0)
        packet, size = ctypes.create_string_buffer(BYTES), ctypes.c_uint8()

        def encode(samples: Samples) -> tuple[bytes, int]:
            self._library.bcg729Encoder(state, pointer(samples), packet, ctypes.byref(size))
            return packet.raw[: size.value], 8 * size.value

        try:
            yield encode
        finally:
            self._library.closeBcg729EncoderChannel(state)

    @contextmanager
    def _decoder(self) -> Iterator[DecodeFrame]:
        state = self._library.initBcg729DecoderChannel()

        def decode(packet: bytes | None) -> Samples:
            samples = np.empty(self.frame, dtype=np.int16)
            lost = packet is None
            if packet is not None:
                self._check_packet(packet, BYTES)
            given = bytes(BYTES) if packet is None else packet
            self._library.bcg729Decoder(state, given, BYTES, lost, 0, 0, pointer(samples))
            return samples

        try:
            yield decode
        finally:
            self._library.closeBcg729DecoderChannel(state)
