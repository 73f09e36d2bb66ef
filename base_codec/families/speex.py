"""Speex, narrowband (8 kHz) and wideband (16 kHz), at constant bitrates, through libspeex.

A packet is one frame of 20 ms; ``bits`` counts what the encoder wrote into it, not the padding of its last octet. The
decoder's perceptual enhancement is on, and the encoder's complexity 2, which are the library's defaults. A lost frame
is given to the decoder as a missing one, and it conceals it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

import numpy as np

from codec_superb.base_codec import system
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodingFailed, RefusedSetting
from codec_superb.base_codec.families.frames import DecodeFrame, EncodeFrame, FrameCodec, Samples, declare, pointer

MODES = {8000: 0, 16000: 1}
"""Sampling rate to the library's number of the mode (speex.h)."""
QUALITIES = range(11)
SET_QUALITY, GET_BITRATE = 4, 19
"""Requests of ``speex_encoder_ctl`` (speex.h)."""
LARGEST = 256
"""Bytes that hold any frame: 42.2 kbit/s makes 106."""


class _Bits(ctypes.Structure):
    """SpeexBits of speex_bits.h, public and unchanged since version 1.0."""

    _fields_: ClassVar = [
        ("chars", ctypes.c_void_p), ("nbBits", ctypes.c_int), ("charPtr", ctypes.c_int), ("bitPtr", ctypes.c_int),
        ("owner", ctypes.c_int), ("overflow", ctypes.c_int), ("buf_size", ctypes.c_int), ("reserved1", ctypes.c_int),
        ("reserved2", ctypes.c_void_p),
    ]  # fmt: skip


class Speex(FrameCodec):
    """Speex; ``settings`` holds ``quality``, 0 to 10, and the card's sampling rate chooses the mode."""

    def __init__(self, card: Card) -> None:
        super().__init__(card)
        self._quality: int = card.settings.get("quality", -1)
        if self._quality not in QUALITIES or card.sampling_rate not in MODES or card.channels != (1,):
            raise RefusedSetting(
                f"{card.name}: Speex has the qualities 0 to 10 at {list(MODES)} Hz, mono; "
                f"got {self._quality} at {card.sampling_rate} Hz, channels {card.channels}"
            )
        self.frame = card.sampling_rate // 50
        self._library = system.library(card)
        _declare(self._library)
        with self._encoding() as (state, _):
            rate = ctypes.c_int()
            self._library.speex_encoder_ctl(state, GET_BITRATE, ctypes.byref(rate))
        if rate.value != round(1000 * (card.nominal_kbps or 0)):
            raise RefusedSetting(
                f"{card.name}: libspeex has {rate.value} bit/s at quality {self._quality}, not {card.nominal_kbps} kbps"
            )

    @contextmanager
    def _bits(self) -> Iterator[_Bits]:
        bits = _Bits()
        self._library.speex_bits_init(ctypes.byref(bits))
        try:
            yield bits
        finally:
            self._library.speex_bits_destroy(ctypes.byref(bits))

    @contextmanager
    def _encoding(self) -> Iterator[tuple[int, _Bits]]:
        """Create an encoder at the card's quality, and the bits that it writes into."""
        state = self._library.speex_encoder_init(self._library.speex_lib_get_mode(MODES[self.card.sampling_rate]))
        try:
            quality = ctypes.c_int(self._quality)
            self._library.speex_encoder_ctl(state, SET_QUALITY, ctypes.byref(quality))
            with self._bits() as bits:
                yield state, bits
        finally:
            self._library.speex_encoder_destroy(state)

    @contextmanager
    def _encoder(self) -> Iterator[EncodeFrame]:
        packet = ctypes.create_string_buffer(LARGEST)
        with self._encoding() as (state, bits):

            def encode(samples: Samples) -> tuple[bytes, int]:
                block = samples.copy()  # libspeex filters its input in place
                self._library.speex_bits_reset(ctypes.byref(bits))
                self._library.speex_encode_int(state, pointer(block), ctypes.byref(bits))
                size = self._library.speex_bits_write(ctypes.byref(bits), packet, LARGEST)
                return packet.raw[:size], bits.nbBits

            yield encode

    @contextmanager
    def _decoder(self) -> Iterator[DecodeFrame]:
        state = self._library.speex_decoder_init(self._library.speex_lib_get_mode(MODES[self.card.sampling_rate]))

        def decode(packet: bytes | None, bits: _Bits) -> Samples:
            samples = np.empty(self.frame, dtype=np.int16)
            given = None
            if packet is not None:
                self._library.speex_bits_read_from(ctypes.byref(bits), packet, len(packet))
                given = ctypes.byref(bits)
            if self._library.speex_decode_int(state, given, pointer(samples)):
                raise CodingFailed(f"{self.card.name}: libspeex refuses a packet of {len(packet or b'')} bytes")
            return samples

        try:
            with self._bits() as bits:
                yield lambda packet: decode(packet, bits)
        finally:
            self._library.speex_decoder_destroy(state)


def _declare(library: ctypes.CDLL) -> None:
    state, bits, data, number = ctypes.c_void_p, ctypes.POINTER(_Bits), ctypes.c_void_p, ctypes.c_int
    declare(
        library,
        speex_lib_get_mode=(data, number),
        speex_encoder_init=(state, data),
        speex_encoder_destroy=(None, state),
        speex_encoder_ctl=(number, state, number, data),
        speex_encode_int=(number, state, data, bits),
        speex_decoder_init=(state, data),
        speex_decoder_destroy=(None, state),
        speex_decode_int=(number, state, bits, data),
        speex_bits_init=(None, bits),
        speex_bits_destroy=(None, bits),
        speex_bits_reset=(None, bits),
        speex_bits_write=(number, bits, ctypes.c_char_p, number),
        speex_bits_read_from=(None, bits, ctypes.c_char_p, number),
    )
