"""The input of YAMNet: patches of a log-mel spectrogram, 0.96 s by 64 bands.

Source: Plakal and Ellis, YAMNet, TensorFlow Model Garden, 2020 (README and parameters): 16 kHz mono, magnitudes of a
Fourier transform over 25 ms every 10 ms with a periodic Hann window, 64 HTK mel bands of 125 to 7500 Hz,
``ln(mel + 0.001)``, patches of 96 frames every 48.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.aec.framing import bin_hertz, frame
from codec_superb.metrics.hann import hann
from codec_superb.metrics.mel_scale import Floats, htk_mel, mel_edges, triangles

RATE = 16_000
BANDS = 64
# 0.96 s of frames 10 ms apart, every 0.48 s
PATCH_FRAMES = 96
PATCH_HOP_FRAMES = 48
LOG_OFFSET = 0.001
# 25 ms and 10 ms; the transform is the next power of two
_WINDOW, _HOP, _FFT = 400, 160, 512
_PATCH_SAMPLES = (PATCH_FRAMES - 1) * _HOP + _WINDOW
_PATCH_HOP_SAMPLES = PATCH_HOP_FRAMES * _HOP


def patches(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the patches of ``(samples,)`` at 16 kHz, shape ``(patches, 96, 64)``; at least one.

    A clip is filled with silence up to the end of its last patch, so that no sample is left out.
    """
    beyond = max(0, samples.size - _PATCH_SAMPLES)
    count = 1 + -(-beyond // _PATCH_HOP_SAMPLES)
    whole = _PATCH_SAMPLES + (count - 1) * _PATCH_HOP_SAMPLES
    log_mel = _log_mel(np.pad(samples, (0, whole - samples.size)))
    starts = PATCH_HOP_FRAMES * np.arange(count)
    return np.stack([log_mel[start : start + PATCH_FRAMES] for start in starts]).astype(np.float32)


def _log_mel(samples: NDArray[np.float32]) -> Floats:
    windowed = frame(samples, _WINDOW, _HOP) * hann(_WINDOW)
    magnitudes = np.abs(np.fft.rfft(windowed, _FFT))
    return np.log(magnitudes @ _filters() + LOG_OFFSET)


@functools.cache
def _filters() -> Floats:
    """Triangles that are straight on the mel scale; the constant part of the spectrum takes no part."""
    filters = triangles(mel_edges(BANDS, 125.0, 7500.0, htk_mel), htk_mel(bin_hertz(_FFT, RATE)))
    filters[:, 0] = 0.0
    return np.ascontiguousarray(filters.T)
