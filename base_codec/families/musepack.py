"""Musepack (stream version 8) by quality: mpcenc of musepack-tools encodes through pipes, FFmpeg decodes.

A clip becomes a 16-bit WAV file on the program's standard input, at 32, 44.1 or 48 kHz. The payload is the body of the
audio packets (``AP``); stream header, gain, encoder information and seek table are container. The two bytes of the
stream header that the decoder needs (rate, bands, channels, frames in a packet) are not counted.
"""

from __future__ import annotations

import io
import subprocess
from collections.abc import Iterator, Sequence

import soundfile

from codec_superb.base_codec import system
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodingFailed, RefusedSetting
from codec_superb.base_codec.families.native_rate import NativeRateCodec
from codec_superb.base_codec.families.pcm import to_int16
from codec_superb.base_codec.fitting import Audio

MAGIC = b"MPCK"
_KEY = 2
"""Bytes of a packet's name."""


class Musepack(NativeRateCodec):
    """Musepack; ``settings`` holds ``quality``, 0 to 10."""

    decoder = "mpc8"

    def __init__(self, card: Card) -> None:
        super().__init__(card)
        quality = card.settings.get("quality")
        if not isinstance(quality, int | float) or not 0 <= quality <= 10:  # noqa: PLR2004 - of mpcenc
            raise RefusedSetting(f"{card.name}: Musepack has the qualities 0 to 10, got {quality}")
        self._command = (system.found(card), "--silent", "--quality", f"{quality:.2f}", "-", "-")

    def _coded_packets(self, audio: Audio, rate: int) -> tuple[bytes, Sequence[bytes]]:
        file = io.BytesIO()
        soundfile.write(file, to_int16(audio).T, rate, format="WAV", subtype="PCM_16")
        done = subprocess.run(self._command, input=file.getvalue(), capture_output=True, check=False)
        if done.returncode or not done.stdout.startswith(MAGIC):
            told = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            raise CodingFailed(f"{self.card.name}: mpcenc ended with {done.returncode}: {told or 'no words'}")
        parts = list(_parts(done.stdout))
        return dict(parts)[b"SH"][-2:], [body for key, body in parts if key == b"AP"]


def _parts(stream: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Cut a stream into its packets: a name of two letters, the length of all in groups of seven bits, the body."""
    start = len(MAGIC)
    while start + _KEY < len(stream):
        size, body = 0, start + _KEY
        while True:
            size, body = size << 7 | stream[body] & 127, body + 1
            if not stream[body - 1] & 128:
                break
        yield stream[start : start + _KEY], stream[body : start + size]
        start += size
