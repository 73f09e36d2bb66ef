"""Read any audio file as float32 ``(channels, samples)``; all reference audio is decoded here.

libsndfile reads the formats it supports; FFmpeg, through PyAV, reads the rest. A truncated or damaged file is refused
with the reason: otherwise the first half of a truncated file would be scored without notice.
"""

from __future__ import annotations

import os
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from codec_superb.data_manifests.audio.container import missing_bytes
from codec_superb.data_manifests.errors import AudioFileError, ObjectError
from codec_superb.data_manifests.files import Readable

Audio = NDArray[np.float32]

_SUFFIXES_OF_LIBSNDFILE = ".aif .aifc .aiff .au .caf .flac .mp3 .oga .ogg .opus .rf64 .snd .sph .voc .w64 .wav .wave"
_SUFFIXES_OF_FFMPEG = ".aac .ac3 .amr .eac3 .m4a .mka .mp2 .mp4 .tta .webm .wma .wv"

AUDIO_SUFFIXES = frozenset(f"{_SUFFIXES_OF_LIBSNDFILE} {_SUFFIXES_OF_FFMPEG}".split())
"""File name endings, in lower case, that mark a file of a folder as a clip."""

_PIECE = 1 << 20
"""Samples that are read at once: an hour of stereo takes 1.3 GB, which must not be held twice."""

_SHORTEST_SHARE = 0.9
"""Containers round the duration that they state; a file with less than this fraction of it is truncated."""


def read_audio(path: Readable) -> tuple[Audio, int]:
    """Decode ``path``: float32 of shape ``(channels, samples)`` and the rate in Hz.

    Samples are as stored: nothing is normalised, clipped or mixed, and silence is audio like any other.
    Raises :class:`AudioFileError` when the file is missing, truncated, empty, not audio, or holds NaN or Inf.
    """
    try:
        with _opened(path) as file:
            audio, rate = _decode(file)
    except ObjectError:  # says it all
        raise
    except AudioFileError as error:
        raise AudioFileError(f"cannot read {path} as audio: {error}") from error
    except OSError as error:
        raise AudioFileError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from error
    return audio, rate


def read_header(path: Readable) -> tuple[int, int] | None:
    """Return rate in Hz and samples per channel from the header of ``path``, without decoding.

    None where libsndfile cannot read the file; its length is then known only after decoding. Raises OSError for a file
    that is missing or that cannot be read from the disk.
    """
    import soundfile

    try:
        with _opened(path) as file, soundfile.SoundFile(_source(file), closefd=False) as sound:
            return int(sound.samplerate), int(sound.frames)
    except soundfile.SoundFileError:
        return None


def _opened(path: Readable) -> BinaryIO:
    """Open a file without a buffer, whose place would not be that of its descriptor; an object as its store does."""
    return path.open("rb", buffering=0) if isinstance(path, Path) else path.open("rb")


def _source(file: BinaryIO) -> int | _Unnamed:
    """Return what libsndfile reads, which tells the format by the content as neither has a suffix.

    The descriptor of a file, at its present place; by callbacks it takes some thirty calls of Python a clip, 0.08 ms.
    """
    return file.fileno() if isinstance(file, FileIO) else _Unnamed(file)


def _decode(file: BinaryIO) -> tuple[Audio, int]:
    if not file.seek(0, os.SEEK_END):
        raise AudioFileError("the file is empty (0 bytes)")
    missing = missing_bytes(file)
    if missing:
        raise AudioFileError(f"truncated: its header promises {missing} bytes more than there are")
    decoded = _with_libsndfile(file)
    audio, rate = decoded if decoded is not None else _with_ffmpeg(file)
    if audio.shape[1] == 0:
        raise AudioFileError("it holds 0 samples")
    _refuse_non_finite(audio)
    return audio, rate


def _with_libsndfile(file: BinaryIO) -> tuple[Audio, int] | None:
    """Return the audio and its rate, or None when libsndfile does not know the format."""
    import soundfile

    file.seek(0)
    try:
        sound = soundfile.SoundFile(_source(file), closefd=False)
    except soundfile.LibsndfileError:
        return None
    with sound:
        promised = sound.frames
        try:
            audio, found = _read_planes(sound)
        except (soundfile.LibsndfileError, RuntimeError) as error:
            raise AudioFileError(f"damaged: {error}") from error
        if found < promised:
            raise AudioFileError(f"truncated: {promised} samples promised, {found} found")
        return audio, int(sound.samplerate)


def _read_planes(sound: Any) -> tuple[Audio, int]:
    """Return all samples as ``(channels, samples)``, transposed piece by piece, and their number per channel."""
    audio = np.empty((sound.channels, sound.frames), dtype=np.float32)
    found = 0
    while found < sound.frames:
        piece = sound.read(min(_PIECE, sound.frames - found), dtype="float32", always_2d=True)
        if not len(piece):
            break
        audio[:, found : found + len(piece)] = piece.T
        found += len(piece)
    return audio, found


def _with_ffmpeg(file: BinaryIO) -> tuple[Audio, int]:
    import av

    file.seek(0)
    try:
        # PyAV decodes tags strictly as UTF-8 by default; a tag in another encoding must not make a file unreadable.
        with av.open(_Unnamed(file), mode="r", metadata_errors="ignore") as container:
            if not container.streams.audio:
                raise AudioFileError("no audio stream in it")
            stream = container.streams.audio[0]
            rate = int(stream.rate)
            audio = _planes(container, stream)
            stated = _stated_seconds(container, stream)
    except (av.FFmpegError, ValueError) as error:
        raise AudioFileError(f"neither libsndfile nor FFmpeg can decode it ({error})") from error
    if audio.shape[1] < _SHORTEST_SHARE * stated * rate:
        raise AudioFileError(f"truncated: {stated:.2f} s promised, {audio.shape[1] / rate:.2f} s found")
    return audio, rate


def _stated_seconds(container: Any, stream: Any) -> float:
    """Return the duration that the container states, in seconds; 0 when it states none."""
    import av

    # Matroska states the length of the whole only, not that of a stream.
    if stream.duration and stream.time_base:
        return float(stream.duration * stream.time_base)
    # The length of a container counts microseconds (FFmpeg's AV_TIME_BASE).
    return float(container.duration / av.time_base) if container.duration else 0.0


def _planes(container: Any, stream: Any) -> Audio:
    import av

    # fltp is float32 with a plane for each channel; layout and rate stay, so nothing is resampled.
    to_float = av.AudioResampler(format="fltp", layout=stream.layout, rate=stream.rate)
    frames = [out for frame in container.decode(stream) for out in to_float.resample(frame)]
    if not frames:
        return np.zeros((stream.channels, 0), dtype=np.float32)
    return np.concatenate([frame.to_ndarray() for frame in frames], axis=1).astype(np.float32, copy=False)


def _refuse_non_finite(audio: Audio) -> None:
    if np.isfinite(audio.min()) and np.isfinite(audio.max()):  # min and max of numpy propagate NaN
        return
    finite = np.isfinite(audio)
    first = int(np.argmin(finite.all(axis=0)))
    raise AudioFileError(f"{np.count_nonzero(~finite)} samples are NaN or infinite, the first at sample {first}")


class _Unnamed:
    """An open file without a ``name`` attribute, so that libraries detect the format from content, not suffix."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        return self._file.read(size)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()
