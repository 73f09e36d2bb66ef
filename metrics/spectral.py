"""Distances between short-time spectra: ``stft`` and ``mel``, each over two resolutions.

Conventions: windows of 2048 and 512 samples (periodic Hann), hop a quarter of the window, frames centred on the samples
with reflection at both ends, magnitude spectra without scaling. A clip must be longer than half the longest window,
because the reflection needs that many samples. Everything runs in single precision in blocks of frames, so that memory
does not grow with the clip; both distances come from one pass.

    distance = Σ over resolutions of  mean |log10 max(|X|, 1e-5)² − log10 max(|Y|, 1e-5)²|  +  mean | |X| − |Y| |

Metrics: :func:`stft`, :func:`mel`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics._spectral_loops import difference_sums, magnitude_sum, magnitudes, mel_bands
from codec_superb.metrics.errors import Undefined
from codec_superb.metrics.hann import hann
from codec_superb.metrics.mel_scale import mel_bank
from codec_superb.metrics.p862.alignment.frames import half_workspace
from codec_superb.metrics.signals import Audio, Signal, pair

_BLOCK_SAMPLES = 32 * 2048
"""Samples of windowed frames that are transformed at once, a multiple of sixteen frames: they fit the cache."""

_KEPT_VALUES = 8_000_000
"""Largest number of spectral values (4 bytes each) that a signal keeps for the next pair."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """One of the resolutions of the distances."""

    window: int
    """Samples; also the length of the transform. The hop is a quarter of it."""
    bands: int
    """Mel bands."""

    @property
    def hop(self) -> int:
        """Samples between frames."""
        return self.window // 4


RESOLUTIONS = (Resolution(2048, 150), Resolution(512, 80))


@dataclass(frozen=True, slots=True)
class _Block:
    """Some consecutive frames of one signal."""

    magnitude: NDArray[np.float32]
    """Shape ``(groups of sixteen frames, window // 2 + 1, 16)``; 0 where the last group has no frame."""
    mel: NDArray[np.float32]
    """Shape ``(groups, bands, 16)``."""


@dataclass(frozen=True, slots=True)
class _Distances:
    stft: float
    mel: float


def stft(reference: Audio, resynthesis: Audio, rate: int) -> float:
    """Return the STFT distance, in [0, inf), lower is better; 0 for identical signals. Level counts.

    Arrays of shape ``(samples,)``, equal length, ``rate`` in Hz. Raises Undefined for clips of 1024 samples or fewer,
    InvalidAudio for arrays that are not a pair.

    Worked number: white noise against itself at half the level gives 2 · log10 4 = 1.204 plus the mean magnitudes'
    halves.
    """
    return _distances(*pair(reference, resynthesis, rate)).stft


def mel(reference: Audio, resynthesis: Audio, rate: int) -> float:
    """Return the mel distance, in [0, inf), lower is better; 0 for identical signals. Level counts.

    Arrays of shape ``(samples,)``, equal length, ``rate`` in Hz. Raises Undefined for clips of 1024 samples or fewer,
    InvalidAudio for arrays that are not a pair.

    Worked number: a signal against itself at half the level gives 2 · log10 4 = 1.204 plus the mean magnitudes' halves.
    """
    return _distances(*pair(reference, resynthesis, rate)).mel


def _distances(reference: Signal, resynthesis: Signal) -> _Distances:
    return resynthesis.derived(("spectral", reference), lambda signal: _compute(reference, signal))


def _compute(reference: Signal, resynthesis: Signal) -> _Distances:
    shortest = RESOLUTIONS[0].window // 2
    if reference.samples.size <= shortest:
        raise Undefined(f"the clip has {reference.samples.size} samples; the distance needs more than {shortest}")
    totals = np.zeros(2)
    for resolution in RESOLUTIONS:
        sums = np.zeros((2, 2))
        for x, y in zip(_blocks(reference, resolution), _stream(resynthesis, resolution), strict=True):
            for row, first, second in ((0, x.magnitude, y.magnitude), (1, x.mel, y.mel)):
                ratio = np.empty_like(first)
                sums[row, 0] += difference_sums(first, second, ratio)
                sums[row, 1] += magnitude_sum(np.log(ratio, out=ratio))
        frames = _frame_count(reference, resolution)
        values = np.array([frames * (resolution.window // 2 + 1), frames * resolution.bands])
        # log10(m ** 2) is 2 / ln 10 times ln m
        totals += (sums[:, 0] + sums[:, 1] * (2.0 / np.log(10.0))) / values
    return _Distances(stft=float(totals[0]), mel=float(totals[1]))


def _frame_count(signal: Signal, resolution: Resolution) -> int:
    return 1 + signal.samples.size // resolution.hop


def _blocks(signal: Signal, resolution: Resolution) -> Iterator[_Block]:
    """Yield the reference's blocks, kept for the next codec of the same clip unless the clip is very long."""
    if _frame_count(signal, resolution) * resolution.window // 2 > _KEPT_VALUES:
        return _stream(signal, resolution)
    return iter(signal.derived(("blocks", resolution), lambda own: tuple(_stream(own, resolution))))


def _stream(signal: Signal, resolution: Resolution) -> Iterator[_Block]:
    window = resolution.window
    padded = np.pad(signal.single, window // 2, mode="reflect")
    bank, taper, at = mel_bank(signal.rate, window, resolution.bands), _hann(window), half_workspace(window)
    frames, step = _frame_count(signal, resolution), _BLOCK_SAMPLES // window
    for start in range(0, frames, step):
        magnitude = magnitudes(padded, start * resolution.hop, min(step, frames - start), taper, at)
        yield _Block(magnitude, mel_bands(magnitude, bank.first, bank.weights, bank.offsets))


@lru_cache(maxsize=4)
def _hann(window: int) -> NDArray[np.float32]:
    return hann(window).astype(np.float32)
