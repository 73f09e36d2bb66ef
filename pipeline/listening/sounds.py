"""The sounds of one clip under all conditions: one length, one rate, files of one size.

Sounds are 16-bit FLAC (RFC 9639), which every browser decodes exactly. The files of a clip are padded to one size,
since sizes could tell a listener which is which.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.listening.anchors import LOW, MID, low_pass, modulated_noise

Floats = NDArray[np.float32]
Levels = Literal["as-is", "rms"]

REFERENCE: Final = "reference"
LOW_ANCHOR: Final = "anchor-3.5k"
MID_ANCHOR: Final = "anchor-7k"
GOLD: Final = "gold-noise"
OWN_CONDITIONS: Final = (REFERENCE, LOW_ANCHOR, MID_ANCHOR, GOLD)
"""Conditions that are made from the reference."""
MEDIA_TYPE: Final = "audio/flac"
SECONDS: Final = 10.0
"""Longest sound: BS.1534-3 asks for about ten seconds."""
_FADE: Final = 0.02
_LEAST: Final = 0.2
_STREAMINFO: Final = 4 + 4 + 34  # fLaC, a header, STREAMINFO (RFC 9639, 8.2)
"""Bytes up to the end of the block STREAMINFO, which comes first."""
_HEADER: Final = 4


@dataclass(frozen=True, slots=True)
class ClipSounds:
    """A clip through several codecs: mono sounds in [-1, 1] of one rate, shape ``(samples,)``."""

    clip: str
    rate: int
    """Hz."""
    reference: Floats
    codecs: Mapping[str, Floats]
    credit: str
    """Attribution and licence."""


def conditions_of(
    sounds: ClipSounds, *, anchors: bool, gold: bool, levels: Levels = "as-is", seconds: float = SECONDS
) -> dict[str, Floats]:
    """Return every condition of a clip: the reference, anchors, a gold question and the codecs.

    All are cut to the shortest of them and to ``seconds``, and fade out. Levels are left alone, or with ``rms`` that of
    each codec is the reference's. Where a sound goes beyond [-1, 1] all are made quieter by the same factor. Raises
    PipelineError for sounds of less than a fifth of a second, or a silent one where levels are to be equal.
    """
    length = min(int(seconds * sounds.rate), sounds.reference.size, *(its.size for its in sounds.codecs.values()))
    if length < _LEAST * sounds.rate:
        raise PipelineError(f"{sounds.clip}: expected at least {_LEAST:g} s of sound, got {length / sounds.rate:.3f} s")
    reference = sounds.reference[:length]
    found = {REFERENCE: reference}
    if anchors:
        found[LOW_ANCHOR] = low_pass(reference, sounds.rate, LOW)
        found[MID_ANCHOR] = low_pass(reference, sounds.rate, MID)
    if gold:
        found[GOLD] = modulated_noise(reference, seed=length)
    for codec, audio in sounds.codecs.items():
        cut = audio[:length]
        found[codec] = cut if levels == "as-is" else _as_loud(cut, reference, f"{sounds.clip} through {codec}")
    peak = max(1.0, *(float(np.abs(its).max()) for its in found.values()))
    fade = int(_FADE * sounds.rate)
    envelope = np.ones(length, dtype=np.float32)
    envelope[length - fade :] = np.cos(np.linspace(0, np.pi / 2, fade)) ** 2
    return {name: (its / peak * envelope).astype(np.float32) for name, its in found.items()}


def _as_loud(audio: Floats, reference: Floats, name: str) -> Floats:
    own, wanted = (float(np.sqrt(np.mean(np.square(its, dtype=np.float64)))) for its in (audio, reference))
    if own <= 0:
        raise PipelineError(f"{name}: expected sound whose level can be made the reference's, got silence")
    return (audio * (wanted / own)).astype(np.float32)


def encode(conditions: Mapping[str, Floats], rate: int) -> dict[str, bytes]:
    """Write the sounds as FLAC files of one size."""
    files = {name: _flac(audio, rate) for name, audio in conditions.items()}
    size = max(map(len, files.values())) + _HEADER
    return {name: _padded(content, size) for name, content in files.items()}


def decode(content: bytes, name: str) -> tuple[Floats, int]:
    """Read a sound (WAV, FLAC, Ogg Opus, …) as the mean of its channels, shape ``(samples,)``, and its rate in Hz.

    ``name`` stands in the PipelineError for what is no sound.
    """
    import soundfile

    try:
        audio, rate = soundfile.read(io.BytesIO(content), dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        raise PipelineError(f"{name}: expected a sound file, got what cannot be decoded: {error}") from error
    return audio.mean(axis=1, dtype=np.float32), int(rate)


def _flac(audio: Floats, rate: int) -> bytes:
    import soundfile

    out = io.BytesIO()
    soundfile.write(out, np.clip(audio, -1, 1), rate, format="FLAC", subtype="PCM_16")
    return out.getvalue()


def _padded(content: bytes, size: int) -> bytes:
    """Put a block PADDING of zeros behind STREAMINFO, so that the file has ``size`` bytes (RFC 9639, 8.1 and 8.3)."""
    head, rest = bytearray(content[:_STREAMINFO]), content[_STREAMINFO:]
    # the highest bit marks the last block of metadata, the others say its type: 1 is PADDING
    last, head[4] = head[4] & 0x80, head[4] & 0x7F
    # 24 bits, big-endian (RFC 9639, 8.1)
    length = size - len(content) - _HEADER
    return bytes(head) + bytes([last | 1]) + length.to_bytes(3, "big") + bytes(length) + rest
