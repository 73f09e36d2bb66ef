"""Read any audio file as float32 ``(channels, samples)``; the one place where files become arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from codec_superb.data_manifests.errors import AudioFileError


def read_audio(path: Path) -> tuple[NDArray[np.float32], int]:
    """Decode ``path``: float32 of shape ``(channels, samples)`` and the rate in Hz.

    Raises :class:`AudioFileError` when the file is missing, truncated, empty, not audio, or holds NaN or Inf.
    """
    import soundfile

    try:
        audio, rate = soundfile.read(path, dtype="float32", always_2d=True)
    except (soundfile.SoundFileError, OSError) as error:
        raise AudioFileError(f"cannot read {path} as audio: {error}") from error
    return np.ascontiguousarray(audio.T), int(rate)
