"""Mel spectra in decibels as librosa computes them by default, without librosa: what DNSMOS and WARP-Q were built on.

Conventions: frames are centred, the ends padded with zeros; the taper is a periodic Hann window; power spectra;
Slaney's mel filters with area normalisation; single precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.hann import hann
from codec_superb.metrics.mel_scale import slaney_filters

Floats = NDArray[np.float32]

_BLOCK = 2048
"""Frames at a time, so that a long clip needs little memory."""
# amin of librosa.power_to_db, whose top_db is 80
_QUIETEST = 1e-10
"""Powers below it are equal in the result."""


@dataclass(frozen=True)
class MelSpectrum:
    """One set of parameters of the analysis."""

    rate: int
    """Hz."""
    transform: int
    """Length of the Fourier transform in samples, even or odd."""
    window: int
    """Length of the taper in samples, at most ``transform``, centred in it."""
    hop: int
    bands: int
    highest: float
    """Upper end of the filters in Hz."""

    @cached_property
    def filters(self) -> Floats:
        """The filters, shape ``(bands, transform // 2 + 1)``."""
        # an odd transform, as of DNSMOS, has no bin at half the rate
        bins = np.arange(self.transform // 2 + 1, dtype=np.float64) * self.rate / self.transform
        return slaney_filters(self.bands, 0.0, self.highest, bins).astype(np.float32)

    @cached_property
    def taper(self) -> Floats:
        """The Hann window between zeros, shape ``(transform,)``."""
        left = (self.transform - self.window) // 2
        return np.pad(hann(self.window), (left, self.transform - self.window - left)).astype(np.float32)

    def powers(self, samples: Floats) -> Floats:
        """Return the mel powers, shape ``(bands, frames)`` with ``1 + samples // hop`` frames (even transforms)."""
        # librosa pads with zeros since 0.10; before, it mirrored the signal
        padded = np.pad(samples, self.transform // 2)
        frames = np.lib.stride_tricks.sliding_window_view(padded, self.transform)[:: self.hop]
        blocks = [self._block(frames[start : start + _BLOCK]) for start in range(0, len(frames), _BLOCK)]
        return np.concatenate(blocks, axis=1)

    def _block(self, frames: Floats) -> Floats:
        spectra = np.fft.rfft(frames * self.taper, axis=-1).astype(np.complex64)
        return np.asarray(self.filters @ np.square(np.abs(spectra)).T, dtype=np.float32)


def decibels(power: Floats, reference: float = 1.0, dynamic: float = 80.0) -> Floats:
    """Return ``power`` in dB over ``reference``, at most ``dynamic`` dB below the loudest."""
    level = 10.0 * np.log10(np.maximum(_QUIETEST, power))
    level -= 10.0 * np.log10(np.maximum(_QUIETEST, reference))
    return np.asarray(np.maximum(level, level.max() - dynamic), dtype=np.float32)
