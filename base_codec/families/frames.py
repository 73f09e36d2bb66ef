"""Speech coders whose frames have one length: what their wrappers share.

A wrapper gives a fresh encoder and a fresh decoder for every clip, each a function of one frame; this class cuts the
clip and joins the frames. The payload is one packet for every frame. A decoder takes ``None`` for a frame that was lost
and conceals it by its own means, so a payload can be decoded with packets missing (:meth:`FrameCodec.decode_frames`).
"""

from __future__ import annotations

import ctypes
from abc import abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray

from codec_superb.base_codec.errors import CodingFailed
from codec_superb.base_codec.families.pcm import from_pcm, to_int16
from codec_superb.base_codec.fitting import Audio
from codec_superb.base_codec.interface import Codec, Packets
from codec_superb.base_codec.packets import arrived

Samples = NDArray[np.int16]
EncodeFrame = Callable[[Samples], tuple[bytes, int]]
"""One frame of samples to its packet and the packet's size in bits, without padding."""
DecodeFrame = Callable[[bytes | None], Samples]
"""One packet, or None for a lost one, to a frame of samples."""


class FrameCodec(Codec):
    """A mono coder of 16-bit samples in frames of ``self.frame`` samples."""

    frame: int
    """Samples of a frame."""

    @abstractmethod
    def _encoder(self) -> AbstractContextManager[EncodeFrame]:
        """Make an encoder for one clip."""

    @abstractmethod
    def _decoder(self) -> AbstractContextManager[DecodeFrame]:
        """Make a decoder for one clip."""

    def _encode(self, audio: Audio) -> Packets:
        # these libraries take 16-bit integers, and whole frames only
        samples = np.pad(to_int16(audio[0]), (0, -audio.shape[1] % self.frame)).reshape(-1, self.frame)
        with self._encoder() as encode:
            coded = [encode(block) for block in samples]
        packets = [packet for packet, _ in coded]
        return Packets(b"".join(packets), sum(bits for _, bits in coded), tuple(map(len, packets)))

    def _decode(self, packets: Packets, channels: int) -> Audio:
        return self._decode_lossy(packets, np.zeros(len(packets.frames), dtype=np.bool_), channels)

    def _decode_lossy(self, packets: Packets, lost: NDArray[np.bool_], channels: int) -> Audio:  # noqa: ARG002 - mono
        return self.decode_frames(arrived(packets.payload, packets.frames, lost))

    def decode_frames(self, frames: Iterable[bytes | None]) -> Audio:
        """Decode packets, in order and with None for each lost one, to float32 ``(1, samples)`` with the delay in it.

        Raises CodingFailed for a packet that the decoder refuses.
        """
        with self._decoder() as decode:
            return from_pcm(np.concatenate([decode(frame) for frame in frames])[None])

    def _check_packet(self, packet: bytes, size: int) -> None:
        """Raise CodingFailed for a packet that is not of ``size`` bytes: a library would read what lies behind it."""
        if len(packet) != size:
            raise CodingFailed(f"{self.card.name}: expected packets of {size} bytes, got {len(packet)}")


def declare(library: ctypes.CDLL, **signatures: tuple[object, ...]) -> None:
    """State result and arguments of C functions, in that order: ctypes takes a pointer for a C int otherwise."""
    for name, (result, *arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments


def pointer(samples: Samples) -> ctypes.c_void_p:
    """Return the address of samples that lie together, for the time of a call."""
    return samples.ctypes.data_as(ctypes.c_void_p)
