"""Store published audio files as FLAC, losslessly where they hold integers; what was stored before is kept."""

from __future__ import annotations

import hashlib
import io
import json
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from codec_superb.data_manifests.audio.quantise import quantise_24_bits
from codec_superb.data_manifests.audio.samples import Samples, pcm_bits, write_flac
from codec_superb.data_manifests.errors import AudioFileError, ManifestError
from codec_superb.data_manifests.files import file_stamp, write_atomically

_DONE = "exported.json"
SAVE_SECONDS = 30.0
"""Seconds between two writes of the record of stored files: the most work that a killed process loses."""


class AudioStore:
    """A folder of clips, stored as ``<id>.flac``; use it as a context manager, which keeps the record of what is there.

    The record holds, for each clip, what it was made of (the SHA-256 of the bytes, with the times of a cut), and size
    and time of its stored file.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder.parent / _DONE
        self._seen: set[str] = set()
        self._saved = time.monotonic()
        try:
            self._known: dict[str, list[Any]] = dict(json.loads(self._file.read_bytes()))
        except (FileNotFoundError, ValueError, TypeError):
            self._known = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._save()

    def put(self, clip_id: str, content: bytes, where: str) -> Path:
        """Store the audio file ``content``, found at ``where``; return the path of the clip.

        Raises AudioFileError for what is no audio, ManifestError for an id that was stored before in this run.
        """
        return self.put_samples(clip_id, hashlib.sha256(content).hexdigest(), lambda: decode_any(content, where))

    def put_samples(self, clip_id: str, source: str, decode: Callable[[], Samples]) -> Path:
        """Store what ``decode`` returns; ``source`` says what it is made of, and the same is not decoded twice.

        Raises what ``decode`` raises, and ManifestError for an id that was stored before in this run.
        """
        if clip_id in self._seen:
            raise ManifestError(f"the clip id {clip_id!r} is given twice")
        self._seen.add(clip_id)
        path = self.folder / f"{clip_id}.flac"
        if not (path.is_file() and self._known.get(clip_id) == [source, *file_stamp(path)]):
            write_flac(path, decode())
            self._known[clip_id] = [source, *file_stamp(path)]
            if time.monotonic() - self._saved > SAVE_SECONDS:
                self._save()
        return path

    def _save(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self._file, json.dumps(self._known).encode())
        self._saved = time.monotonic()


def decode_any(content: bytes, where: str) -> Samples:
    """Return the audio in ``content``: integers unchanged, anything else (floats, lossy formats) quantised to 24 bits.

    Raises AudioFileError, beginning with ``where``.
    """
    import soundfile

    try:
        with soundfile.SoundFile(io.BytesIO(content)) as file:
            rate = int(file.samplerate)
            if file.subtype.startswith("PCM_"):
                data = file.read(dtype="int32", always_2d=True)
                samples = Samples(data, rate, pcm_bits(file.subtype))
            else:
                samples = quantise_24_bits(_finite(file.read(dtype="float32", always_2d=True).T, where), rate)
    except (soundfile.SoundFileError, OSError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        raise AudioFileError(f"{where} is no audio: {reason}") from error
    if not samples.data.size:
        raise AudioFileError(f"{where} holds no samples")
    return samples


def _finite(audio: NDArray[np.float32], where: str) -> NDArray[np.float32]:
    if not np.isfinite(audio).all():
        raise AudioFileError(f"{where} holds NaN or Inf")
    return audio
