"""The audio file in a cell of a Parquet table."""

from __future__ import annotations

import io

import numpy as np

from codec_superb.data_manifests.errors import LayoutError


def audio_bytes(cell: object, where: str) -> bytes:
    """Return the audio file in a cell: its ``bytes``, or a WAV of floats made of ``waveform`` and ``sample_rate``.

    Raises LayoutError for a cell that holds neither.
    """
    if isinstance(cell, dict):
        content = cell.get("bytes")
        if isinstance(content, bytes):
            return content
        if isinstance(cell.get("waveform"), list) and isinstance(cell.get("sample_rate"), int):
            return _wav(cell["waveform"], cell["sample_rate"])
    raise LayoutError(f"{where}: expected audio to hold bytes, or waveform and sample_rate, got {str(cell)[:60]!r}")


def _wav(samples: list[float], rate: int) -> bytes:
    import soundfile

    buffer = io.BytesIO()
    soundfile.write(buffer, np.asarray(samples, dtype=np.float32), rate, format="WAV", subtype="FLOAT")
    return buffer.getvalue()
