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

from codec_superb.applications.aec.mel import Floats, bin_hertz, frame, mel_edges, periodic_hann
from codec_superb.applications.interface import Samples
from codec_superb.metrics.mel_scale import hz_to_mel, mel_to_hz
from codec_superb.metrics.mel_scale import triangles as equal_area_triangles

RATE = 48_000
_FLOOR = 1e-10


@dataclass(frozen=True, slots=True)
class ClapInput:
    """How one checkpoint wants its input."""

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
        spectrum = np.fft.rfft(frame(mirrored, self.transform, self.hop) * periodic_hann(self.transform))
        power = np.square(spectrum.real) + np.square(spectrum.imag)
        decibels = 10.0 * np.log10(np.maximum(power @ _filters(self), _FLOOR))
        return decibels.astype(np.float32)[None]


@functools.cache
def _filters(wanted: ClapInput) -> Floats:
    edges = mel_to_hz(mel_edges(wanted.bands, wanted.lowest, wanted.highest, hz_to_mel))
    return equal_area_triangles(edges, bin_hertz(wanted.transform, RATE)).T
