"""Opus through libavcodec; where packets are lost, through the libopus inside PyAV's wheel.

FFmpeg's wrapper of libopus cannot be told of a missing packet. The library can: ``opus_decode_float`` without data
continues the sound (RFC 6716, section 4.4). Without losses both give the same samples, bit by bit.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from codec_superb.base_codec.errors import CodingFailed, MissingDependency
from codec_superb.base_codec.families.libav import LibavCodec
from codec_superb.base_codec.families.wheel_library import wheel_library
from codec_superb.base_codec.fitting import Audio
from codec_superb.base_codec.interface import Packets
from codec_superb.base_codec.packets import arrived

LONGEST = 5760
"""Samples of the longest packet, 120 ms at 48 kHz (RFC 6716, section 3.2.5)."""


class OpusCodec(LibavCodec):
    """Opus at one bitrate."""

    def _decode(self, packets: Packets, channels: int) -> Audio:
        return super()._decode_lossy(packets, np.zeros(len(packets.frames), dtype=np.bool_), channels)

    def _decode_lossy(self, packets: Packets, lost: NDArray[np.bool_], channels: int) -> Audio:
        usual = round(self.card.sampling_rate / (self.card.frame_rate or 1))
        sound = np.zeros((LONGEST, channels), dtype=np.float32)
        decoded = []
        with _decoder(self.card.sampling_rate, channels) as (library, state):
            for piece in arrived(packets.payload, packets.frames, lost):
                room = usual if piece is None else LONGEST
                place = sound.ctypes.data_as(ctypes.c_void_p)
                made = library.opus_decode_float(state, piece, len(piece or b""), place, room, 0)
                if made < 0:  # opus_defines.h: OPUS_INVALID_PACKET is -4
                    raise CodingFailed(f"{self.card.name}: libopus could not decode a packet (error {made})")
                decoded.append(sound[:made].T.copy())
        return np.concatenate(decoded, axis=1)


@functools.cache
def _library() -> ctypes.CDLL:
    found = wheel_library("av", "opus")
    if found is None:
        raise MissingDependency(
            "Opus with lost packets needs the libopus inside PyAV's wheel, which was not found: "
            "pip install --force-reinstall --only-binary av av"
        )
    library = ctypes.CDLL(str(found))
    # ctypes takes a result for a C int otherwise, which cuts a pointer to 32 bits
    library.opus_decoder_create.restype = ctypes.c_void_p
    return library


@contextmanager
def _decoder(rate: int, channels: int) -> Iterator[tuple[ctypes.CDLL, ctypes.c_void_p]]:
    """Create a decoder, and free it."""
    library, error = _library(), ctypes.c_int()
    state = ctypes.c_void_p(library.opus_decoder_create(rate, channels, ctypes.byref(error)))
    if not state:
        raise CodingFailed(f"libopus could not create a decoder for {rate} Hz, {channels} channels: {error.value}")
    try:
        yield library, state
    finally:
        library.opus_decoder_destroy(state)
