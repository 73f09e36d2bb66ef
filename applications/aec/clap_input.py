"""The input of CLAP: a log-mel spectrogram of ten seconds at 48 kHz, in numpy.

Source: Wu et al., Large-scale Contrastive Language-Audio Pretraining, ICASSP 2023, without feature fusion: power
spectrum of 1024 samples every 480 with a periodic Hann window, frames centred and the ends mirrored, 64 of Slaney's
mel bands of equal area, decibels of at least -100. A shorter clip is repeated as often as it fits whole and then
filled with silence.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.aec.framing import bin_hertz, frame
from codec_superb.applications.interface import Samples
from codec_superb.metrics.hann import hann
from codec_superb.metrics.mel_scale import Floats, slaney_filters

RATE = 48_000
# -100 dB
_FLOOR = 1e-10


@dataclass(frozen=True, slots=True)
class ClapInput:
    """Input parameters of one checkpoint."""

    # transformers' ClapFeatureExtractor: 1024 samples every 480, 64 bands up to 14 kHz, without fusion Slaney's
    bands: int = 64
    transform: int = 1024
    hop: int = 480
    lowest: float = 50.0
    """Hz."""
    highest: float = 14_000.0
    """Hz."""
    seconds: int = 10

    @property
    def window(self) -> int:
        """Samples of audio in an input."""
        return self.seconds * RATE

    def __call__(self, samples: Samples) -> NDArray[np.float32]:
        """Return the input of at most ``window`` samples, shape ``(1, frames, bands)``."""
        whole = np.tile(samples, self.window // samples.size)
        whole = np.pad(whole, (0, self.window - whole.size))
        mirrored = np.pad(whole, self.transform // 2, mode="reflect")
        spectrum = np.fft.rfft(frame(mirrored, self.transform, self.hop) * hann(self.transform))
        power = np.square(spectrum.real) + np.square(spectrum.imag)
        decibels = 10.0 * np.log10(np.maximum(power @ _filters(self), _FLOOR))
        return decibels.astype(np.float32)[None]


@functools.cache
def _filters(wanted: ClapInput) -> Floats:
    return slaney_filters(wanted.bands, wanted.lowest, wanted.highest, bin_hertz(wanted.transform, RATE)).T
