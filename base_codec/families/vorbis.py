"""Vorbis by quality, encoded by libvorbis inside soundfile's wheel, at the clip's own rate.

FFmpeg's own encoder of Vorbis is experimental and codes stereo alone. Its decoder agrees with libvorbis within 1.2e-7
and takes packets without Ogg. The three headers (identification, comment, codebooks) depend on rate, channels and
quality alone; they are not counted, and the card states their size.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Sequence

import av
import numpy as np
import soundfile
from numpy.typing import NDArray

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodingFailed, RefusedSetting
from codec_superb.base_codec.families.native_rate import NativeRateCodec
from codec_superb.base_codec.fitting import Audio
from codec_superb.base_codec.interface import Encoded

QUALITIES = range(11)
BLOCK = 1 << 16
"""Samples written at a time: libsndfile's encoder takes what it is given on the stack."""
_IDENTIFICATION = b"\x01vorbis"
_BLOCK_SIZES = 28
"""Offset of the block sizes in the identification header (Vorbis I, section 4.2.2): a nibble each, log2 of samples."""


class Vorbis(NativeRateCodec):
    """Vorbis; ``settings`` holds ``quality``, 0 to 10."""

    decoder = "vorbis"

    def __init__(self, card: Card) -> None:
        super().__init__(card)
        self._quality: int = card.settings.get("quality", -1)
        if self._quality not in QUALITIES:
            raise RefusedSetting(f"{card.name}: Vorbis has the qualities 0 to 10, got {self._quality}")
        self._delays: dict[int, float] = {}

    def _delay(self, rate: int) -> float:
        own = self._own_rate(rate)
        if own not in self._delays:
            setup, _ = self._coded_packets(np.zeros((1, 1), dtype=np.float32), own)
            self._delays[own] = _half_a_short_block(setup)
        return self._delays[own]

    def packet_times(self, encoded: Encoded) -> NDArray[np.float64]:  # noqa: ARG002 - none has packets that fit
        """Refuse: blocks are short or long (Vorbis I, section 4.3.1), so what is silent has no known length."""
        raise RefusedSetting(
            f"{self.card.name}: Vorbis has packets of two lengths, each joined to the next; expected a codec whose "
            "packets are all as long, such as opus_64k, to lose some"
        )

    def _coded_packets(self, audio: Audio, rate: int) -> tuple[bytes, Sequence[bytes]]:
        file = io.BytesIO()
        form = {"format": "OGG", "subtype": "VORBIS", "compression_level": 1 - self._quality / 10}
        with soundfile.SoundFile(file, "w", rate, audio.shape[0], **form) as sound:
            for start in range(0, audio.shape[1], BLOCK):
                sound.write(np.ascontiguousarray(audio[:, start : start + BLOCK].T))
        file.seek(0)
        try:
            with av.open(file, "r", format="ogg") as container:
                stream = container.streams.audio[0]
                packets = [bytes(packet) for packet in container.demux(stream) if packet.size]
                return bytes(stream.codec_context.extradata or b""), packets
        except av.FFmpegError as error:
            raise CodingFailed(f"{self.card.name}: FFmpeg could not read what libvorbis wrote: {error}") from error


@functools.cache
def _half_a_short_block(setup: bytes) -> float:
    """Return the delay in samples: the first block is a short one, and sound begins at its middle."""
    sizes = setup[setup.index(_IDENTIFICATION) + _BLOCK_SIZES]
    return (1 << (sizes & 15)) / 2
