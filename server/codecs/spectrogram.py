"""Spectrograms of listening samples: from Ogg Opus to levels in dB on a grid that reference and resynthesis share.

A cell is the mean power of one stretch of time and one band of equal width in Hz, relative to the loudest cell of the
reference; levels below :data:`FLOOR` are shown as silence.
"""

from __future__ import annotations

import io
from typing import Final

import numpy as np
from numpy.typing import NDArray

from codec_superb.pipeline.submission.samples import OPUS_RATE, SECONDS

Grid = NDArray[np.float32]
"""Shape ``(ROWS, columns)``, the highest frequency first."""

ROWS: Final = 192
COLUMNS: Final = 480
"""Most columns."""
FLOOR: Final = -80.0
"""dB of the quietest level that is shown."""
_WINDOW: Final = 2048
_LEAST_HOP: Final = 240  # 5 ms at 48 kHz
# Opus decodes at 48 kHz whatever rate it was given (RFC 7845, section 4)
_LONGEST: Final = round((SECONDS + 1) * OPUS_RATE)
_TINY: Final = 1e-12  # -120 dB of full scale


class NotDecodable(ValueError):
    """The file is not decodable as Ogg Opus; the text gives the reason."""


def decode(content: bytes) -> NDArray[np.float32]:
    """Decode an Ogg Opus file to mono at 48 kHz, shape ``(samples,)``; cut at the longest duration of a sample.

    Raises NotDecodable.
    """
    import av

    pieces: list[NDArray[np.float32]] = []
    length = 0
    try:
        with av.open(io.BytesIO(content), "r", format="ogg") as container:
            if len(container.streams.audio) != 1 or container.streams.audio[0].codec_context.name not in _OPUS:
                raise NotDecodable("expected one Opus stream")
            resampler = av.AudioResampler(format="flt", layout="mono", rate=OPUS_RATE)
            for frame in container.decode(audio=0):
                for part in resampler.resample(frame):
                    pieces.append(part.to_ndarray()[0])
                    length += pieces[-1].size
                # The length that a file states is not trusted: decoding stops here.
                if length >= _LONGEST:
                    break
    except (av.FFmpegError, ValueError) as error:
        raise NotDecodable(f"expected Ogg Opus: {error}") from error
    if not length:
        raise NotDecodable("expected sound, got an empty stream")
    return np.concatenate(pieces)[:_LONGEST].astype(np.float32)


_OPUS = frozenset({"opus", "libopus"})


def power(audio: NDArray[np.float32], highest: float, columns: int) -> NDArray[np.float64]:
    """Mean power of each cell, shape ``(ROWS, columns)``; ``audio`` at 48 kHz, rows from ``highest`` Hz down to 0.

    Hann windows of 2048 samples (43 ms) are spread evenly from the first sample to the last; a full-scale sine has a
    power of 1 in its bin. Raises ValueError for a ``highest`` beyond 24 kHz.
    """
    if not 0 < highest <= OPUS_RATE / 2:
        raise ValueError(f"expected a highest frequency of at most {OPUS_RATE // 2} Hz, got {highest}")
    padded = np.pad(audio.astype(np.float64), _WINDOW // 2)
    starts = np.linspace(0, max(0, audio.size - 1), columns).round().astype(int)
    # numpy's window is symmetric; without its last value it is periodic.
    window = np.hanning(_WINDOW + 1)[:-1]
    frames = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[starts] * window
    # A sine at full scale gives 1: half of it lies at the negative frequency.
    spectrum = np.square(np.abs(np.fft.rfft(frames, axis=1)) * 2 / window.sum())
    # Every cell gets the bins whose centre lies in it; one that has none takes the nearest.
    edges = np.linspace(0, highest / OPUS_RATE * _WINDOW, ROWS + 1)
    first = np.minimum(np.ceil(edges[:-1] - 0.5).astype(int), _WINDOW // 2)
    last = np.maximum(np.ceil(edges[1:] - 0.5).astype(int), first + 1)
    total = np.concatenate([np.zeros((columns, 1)), np.cumsum(spectrum, axis=1)], axis=1)
    last = np.minimum(last, _WINDOW // 2 + 1)
    cells = (total[:, last] - total[:, first]) / (last - first)
    # The difference of two sums may be a little below 0.
    return np.ascontiguousarray(np.maximum(cells, 0.0).T[::-1])


def columns_of(samples: int) -> int:
    """Choose how many columns a sound of so many samples gets: one every 5 ms, at most :data:`COLUMNS`."""
    return max(2, min(COLUMNS, samples // _LEAST_HOP))


def levels(reference: NDArray[np.float32], resynthesis: NDArray[np.float32], highest: float) -> tuple[Grid, Grid]:
    """Levels in dB (``FLOOR`` to 0, the resynthesis up to +20) of both sounds on one grid.

    The shorter one is continued with silence, so that columns stand for the same moment. 0 dB is the loudest cell of
    the reference, or full scale where the reference is silent.
    """
    length = max(reference.size, resynthesis.size)
    columns = columns_of(length)
    both = [power(np.pad(each, (0, length - each.size)), highest, columns) for each in (reference, resynthesis)]
    loudest = float(both[0].max())
    if loudest < _TINY:
        loudest = 1.0
    first, second = (10 * np.log10(np.maximum(each / loudest, 10 ** (FLOOR / 10))) for each in both)
    return np.minimum(first, 0.0).astype(np.float32), np.minimum(second, 20.0).astype(np.float32)
