"""iLBC (RFC 3951) with frames of 20 and 30 ms, through libilbc, the codec of the WebRTC project.

A frame is 304 or 400 bits, whole bytes. Frames do not depend on each other; a lost one is concealed by the decoder. The
versions 2 and 3 of libilbc differ in the type of lengths (16-bit integer, size_t), which are passed as size_t: the
lower bits are the same.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from codec_superb.base_codec import system
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodingFailed, RefusedSetting
from codec_superb.base_codec.families.frames import DecodeFrame, EncodeFrame, FrameCodec, Samples, declare, pointer

BYTES = {20: 38, 30: 50}
"""Milliseconds of a frame to its bytes (RFC 3951, section 3)."""


class Ilbc(FrameCodec):
    """iLBC; ``settings`` holds ``frame_ms``, 20 or 30."""

    def __init__(self, card: Card) -> None:
        super().__init__(card)
        self._frame_ms = card.settings.get("frame_ms")
        if self._frame_ms not in BYTES or card.sampling_rate != 8000 or card.channels != (1,):  # noqa: PLR2004 - 8 kHz
            raise RefusedSetting(
                f"{card.name}: iLBC has frames of {list(BYTES)} ms at 8000 Hz, mono; "
                f"got {self._frame_ms} at {card.sampling_rate} Hz, channels {card.channels}"
            )
        self.frame, self._size = 8 * self._frame_ms, BYTES[self._frame_ms]
        self._library = system.library(card)
        state, result, data, length = ctypes.c_void_p, ctypes.c_int16, ctypes.c_void_p, ctypes.c_size_t
        for coder in ("Encoder", "Decoder"):
            declare(
                self._library,
                **{
                    f"WebRtcIlbcfix_{coder}Create": (result, ctypes.POINTER(state)),
                    f"WebRtcIlbcfix_{coder}Init": (result, state, ctypes.c_int16),
                    f"WebRtcIlbcfix_{coder}Free": (result, state),
                },
            )
        declare(
            self._library,
            WebRtcIlbcfix_Encode=(result, state, data, length, ctypes.c_char_p),
            WebRtcIlbcfix_Decode=(result, state, ctypes.c_char_p, length, data, ctypes.POINTER(result)),
            WebRtcIlbcfix_DecodePlc=(result, state, data, length),
        )

    @contextmanager
    def _coder(self, kind: str) -> Iterator[ctypes.c_void_p]:
        """Create the state of an ``Encoder`` or ``Decoder``, and free it."""
        state = ctypes.c_void_p()
        if getattr(self._library, f"WebRtcIlbcfix_{kind}Create")(ctypes.byref(state)):
            raise CodingFailed(f"{self.card.name}: libilbc could not create its {kind.lower()}: out of memory")
        try:
            getattr(self._library, f"WebRtcIlbcfix_{kind}Init")(state, self._frame_ms)
            yield state
        finally:
            getattr(self._library, f"WebRtcIlbcfix_{kind}Free")(state)

    @contextmanager
    def _encoder(self) -> Iterator[EncodeFrame]:
        packet = ctypes.create_string_buffer(self._size)
        with self._coder("Encoder") as state:

            def encode(samples: Samples) -> tuple[bytes, int]:
                size = self._library.WebRtcIlbcfix_Encode(state, pointer(samples), samples.size, packet)
                if size != self._size:
                    raise CodingFailed(f"{self.card.name}: expected frames of {self._size} bytes, libilbc made {size}")
                return packet.raw, 8 * size

            yield encode

    @contextmanager
    def _decoder(self) -> Iterator[DecodeFrame]:
        kind = ctypes.c_int16()
        with self._coder("Decoder") as state:

            def decode(packet: bytes | None) -> Samples:
                samples = np.empty(self.frame, dtype=np.int16)
                if packet is None:
                    made = self._library.WebRtcIlbcfix_DecodePlc(state, pointer(samples), 1)
                else:
                    self._check_packet(packet, self._size)
                    made = self._library.WebRtcIlbcfix_Decode(
                        state, packet, self._size, pointer(samples), ctypes.byref(kind)
                    )
                if made != self.frame:
                    raise CodingFailed(f"{self.card.name}: expected {self.frame} samples from libilbc, got {made}")
                return samples

            yield decode
