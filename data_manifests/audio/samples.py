"""Integer samples: decode a member of a package file exactly, cut it, store it losslessly and hash it.

Integers are the same on every machine. WAV, AIFF and FLAC hold integers. MP3 is decoded by FFmpeg's fixed-point
decoder, since its floating-point decoders round differently on different processors.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from codec_superb.data_manifests.errors import AudioFileError, ManifestError
from codec_superb.data_manifests.files import Readable, replacing

JOIN_SECONDS = 0.2
"""Silence between recordings that are joined to one clip."""

_BITS_16 = 16


@dataclass(frozen=True, slots=True)
class Samples:
    """Decoded integer audio."""

    data: NDArray[np.int32]
    """Shape ``(samples, channels)``, left-justified: full scale is ±2**31 whatever the resolution."""
    rate: int
    """Hz."""
    bits: int
    """Resolution: 16 or 24."""

    @property
    def seconds(self) -> float:
        """Duration."""
        return len(self.data) / self.rate


def decode_exactly(content: bytes, name: str) -> Samples:
    """Decode the content of an audio file; ``name`` tells MP3 by its suffix and appears in errors.

    Raises AudioFileError.
    """
    if name.lower().endswith(".mp3"):
        return _decode_mp3(content, name)
    import soundfile

    try:
        with soundfile.SoundFile(io.BytesIO(content)) as sound:
            if not sound.subtype.startswith("PCM_"):
                raise AudioFileError(f"{name}: expected integer PCM, got {sound.subtype}")
            return Samples(sound.read(dtype="int32", always_2d=True), sound.samplerate, pcm_bits(sound.subtype))
    except soundfile.LibsndfileError as error:
        raise AudioFileError(f"{name}: cannot be decoded: {error}") from error


def pcm_bits(subtype: str) -> int:
    """Return the resolution at which sound of libsndfile's subtype ``PCM_…`` is stored: 16 or 24 bits."""
    return _BITS_16 if subtype in {"PCM_16", "PCM_S8", "PCM_U8"} else 24


def cut(samples: Samples, start: float, duration: float | None, clip_id: str) -> Samples:
    """Return ``duration`` seconds from ``start`` on (the rest of the recording for None).

    Raises ManifestError when the recording is shorter than that by more than a millisecond.
    """
    first = round(start * samples.rate)
    last = len(samples.data) if duration is None else first + round(duration * samples.rate)
    if first >= len(samples.data) or last - len(samples.data) > samples.rate // 1000:
        raise ManifestError(
            f"clip {clip_id}: expected {start} s to {last / samples.rate} s, got a recording of {samples.seconds:.3f} s"
        )
    return Samples(samples.data[first:last], samples.rate, samples.bits)


def join(parts: Sequence[Samples], clip_id: str) -> Samples:
    """Return the parts one after another with :data:`JOIN_SECONDS` of silence between them.

    Raises ManifestError when rates, channels or resolutions differ.
    """
    first = parts[0]
    if any((p.rate, p.bits, p.data.shape[1]) != (first.rate, first.bits, first.data.shape[1]) for p in parts):
        raise ManifestError(f"clip {clip_id}: only recordings of one rate, resolution and channel count can be joined")
    gap = np.zeros((round(JOIN_SECONDS * first.rate), first.data.shape[1]), dtype=np.int32)
    pieces = [piece for part in parts for piece in (gap, part.data)][1:]
    return Samples(np.concatenate(pieces), first.rate, first.bits)


def write_flac(path: Path, samples: Samples) -> None:
    """Store the samples losslessly at their own rate and resolution; the file is replaced atomically."""
    import soundfile

    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        soundfile.write(temporary, samples.data, samples.rate, format="FLAC", subtype=f"PCM_{samples.bits}")


def flac_bytes(samples: Samples) -> bytes:
    """Return what :func:`write_flac` stores."""
    import soundfile

    file = io.BytesIO()
    soundfile.write(file, samples.data, samples.rate, format="FLAC", subtype=f"PCM_{samples.bits}")
    return file.getvalue()


def samples_sha256(path: Readable) -> str:
    """Return the SHA-256 of a stored clip's samples. Raises AudioFileError when it cannot be decoded."""
    import soundfile

    try:
        with path.open("rb") as file:
            data, rate = soundfile.read(file, dtype="int32", always_2d=True)
    except (soundfile.LibsndfileError, OSError) as error:
        raise AudioFileError(f"cannot read {path} as audio: {error}") from error
    return hash_samples(data, rate)


def hash_samples(data: NDArray[np.int32], rate: int) -> str:
    """Return the SHA-256 over ``rate channels`` in ASCII, a line feed, and the samples as little-endian 32-bit words.

    Samples are interleaved and left-justified, so that a 16-bit and a 24-bit file of the same sound have one hash.
    """
    digest = hashlib.sha256(f"{rate} {data.shape[1]}\n".encode())
    # Little-endian whatever the machine.
    digest.update(data.astype("<i4", order="C", copy=False).tobytes())
    return digest.hexdigest()


def _decode_mp3(content: bytes, name: str) -> Samples:
    import av

    try:
        with av.open(io.BytesIO(content), mode="r", metadata_errors="ignore") as container:
            stream = container.streams.audio[0]
            decoder = av.CodecContext.create("mp3", "r")  # FFmpeg's fixed-point decoder; its default is mp3float
            # demux ends with empty packets; None flushes the decoder below.
            packets = [packet for packet in container.demux(stream) if packet.size]
            frames = [frame for packet in [*packets, None] for frame in decoder.decode(packet)]
            planes = np.concatenate([frame.to_ndarray() for frame in frames], axis=1)
            rate = int(stream.rate)
    except (av.FFmpegError, ValueError, IndexError) as error:
        raise AudioFileError(f"{name}: cannot be decoded: {error}") from error
    if planes.dtype != np.int16:
        raise AudioFileError(f"{name}: expected 16-bit integers of FFmpeg's mp3 decoder, got {planes.dtype}")
    return Samples(np.ascontiguousarray(planes.T, dtype=np.int32) << _BITS_16, rate, _BITS_16)
