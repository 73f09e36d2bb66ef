"""The input of the Audio Spectrogram Transformer: Kaldi's log-mel filter bank, normalised, in numpy.

Source: Gong, Chung and Glass, AST, Interspeech 2021, and Povey et al., The Kaldi Speech Recognition Toolkit, 2011:
frames of 25 ms every 10 ms that lie wholly in the signal, each less its mean, pre-emphasis 0.97, a Hann window that
reaches zero at both ends, power spectrum over 512 points, triangles in mel from 20 Hz to half of the rate, the
logarithm of at least the resolution of float32. transformers computes it with torchaudio where that is installed
and in numpy otherwise; here it is one computation, in double precision.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.aec.framing import bin_hertz, frame
from codec_superb.applications.interface import Samples
from codec_superb.metrics.hann import hann
from codec_superb.metrics.mel_scale import Floats, htk_mel, mel_edges, triangles

RATE = 16_000
WINDOW, HOP = 400, 160
# transformers' ASTFeatureExtractor has the same: pre-emphasis 0.97, mel_floor 1.192e-07, division by 2 * std
_FFT = 512
_PRE_EMPHASIS = 0.97
_LOWEST_HZ = 20.0
_FLOOR = float(np.finfo(np.float32).eps)


@dataclass(frozen=True, slots=True)
class AstInput:
    """Input parameters of one checkpoint; defaults are those of AudioSet."""

    bands: int = 128
    frames: int = 1024
    mean: float = -4.2677393
    """Of the training data; subtracted."""
    deviation: float = 4.5689974
    """Of the training data; the input is divided by twice it."""

    @property
    def window(self) -> int:
        """Samples of audio in an input, 10.24 s with the usual frames."""
        return self.frames * HOP

    def __call__(self, samples: Samples) -> NDArray[np.float32]:
        """Return the input of at most ``window`` samples, shape ``(frames, bands)``; missing frames are zeros.

        The zeros are those of the filter bank, before normalising, as the model was trained.
        """
        found = filter_bank(samples, self.bands)[: self.frames]
        whole = np.pad(found, ((0, self.frames - found.shape[0]), (0, 0)))
        # Gong et al. (2021): mean 0 and standard deviation 0.5 over AudioSet.
        return ((whole - self.mean) / (2.0 * self.deviation)).astype(np.float32)


def filter_bank(samples: Samples, bands: int) -> Floats:
    """Return Kaldi's log-mel filter bank of ``(samples,)`` at 16 kHz, shape ``(frames, bands)``."""
    frames = frame(samples, WINDOW, HOP)
    # Kaldi takes the offset of each frame away first (its remove_dc_offset).
    frames -= frames.mean(axis=1, keepdims=True)
    # Kaldi's pre-emphasis takes the first sample of a frame as its own predecessor
    before = np.concatenate([frames[:, :1], frames[:, :-1]], axis=1)
    # WINDOW - 1: Kaldi's windows are symmetric.
    spectrum = np.fft.rfft((frames - _PRE_EMPHASIS * before) * hann(WINDOW, WINDOW - 1), _FFT)
    power = np.square(spectrum.real) + np.square(spectrum.imag)
    return np.log(np.maximum(power @ _filters(bands), _FLOOR))


@functools.cache
def _filters(bands: int) -> Floats:
    # Kaldi's triangles are straight in mel, not in Hz
    edges = mel_edges(bands, _LOWEST_HZ, RATE / 2, htk_mel)
    # a product with a transposed view may round differently
    return np.ascontiguousarray(triangles(edges, htk_mel(bin_hertz(_FFT, RATE))).T)
