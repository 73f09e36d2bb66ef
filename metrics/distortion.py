"""Waveform distortion in decibels: SI-SDR and SDR.

Conventions: both are energy ratios over the whole clip. ``si_sdr`` removes the mean of both signals and fits the level
of the reference first (Le Roux et al. 2019); ``sdr`` compares as is, without the 512-tap filter of BSS Eval (the
definition of the Music Demixing Challenge). A pair without any difference has no finite ratio: undefined, reason
``infinite``.

Metrics: :func:`si_sdr`, :func:`sdr`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.errors import Undefined
from codec_superb.metrics.signals import Audio, Signal, pair

INFINITE = "infinite"
"""Reason of a ratio that has no end: the resynthesis differs in nothing."""
_ROUNDING = 1e-26
"""Energy of a difference, relative to the signal, that is nothing but the rounding of long sums: 260 dB."""


def si_sdr(reference: Audio, resynthesis: Audio, rate: int) -> float:
    """Return the scale-invariant signal-to-distortion ratio in dB, in (-inf, inf), higher is better.

    Arrays of shape ``(samples,)``, equal length, ``rate`` in Hz. Raises Undefined for a reference or a resynthesis that
    is silent or constant and, with the reason ``infinite``, for one that is a scaled copy; InvalidAudio otherwise.

    Worked number: a sine and the same sine with uncorrelated noise of a hundredth of its energy give 20 dB.
    """
    first, second = pair(reference, resynthesis, rate)
    x, y = first.derived("centred", _centred), second.derived("centred", _centred)
    energy = _dot(x, x)
    if energy == 0.0:
        raise Undefined("the reference is silent or constant")
    if not y.any():
        raise Undefined("the resynthesis is silent or constant")
    # Le Roux et al. 2019: the projection of the resynthesis on the reference is its target
    target = (_dot(x, y) / energy) * x
    return _ratio(_dot(target, target), y - target, _dot(y, y))


def sdr(reference: Audio, resynthesis: Audio, rate: int) -> float:
    """Return the signal-to-distortion ratio in dB, in (-inf, inf), higher is better; a change of level costs.

    Arrays of shape ``(samples,)``, equal length, ``rate`` in Hz. Raises Undefined for a silent reference and, with the
    reason ``infinite``, for an identical resynthesis; InvalidAudio otherwise. Worked number: half the level gives 6.02
    dB.
    """
    first, second = pair(reference, resynthesis, rate)
    if first.silent:
        raise Undefined("the reference is silent")
    energy = _dot(first.samples, first.samples)
    return _ratio(energy, second.samples - first.samples, energy)


def _centred(signal: Signal) -> NDArray[np.float64]:
    """Return the samples without their mean; exactly zero when they are constant."""
    samples = signal.samples
    if samples.min() == samples.max():
        # the mean of equal numbers may differ from them by rounding, which would then be a signal
        return np.zeros_like(samples)
    return np.asarray(samples - samples.mean(), dtype=np.float64)


def _dot(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return the inner product without BLAS, whose threads cost more than the sum and may change its last digits."""
    return float(np.einsum("i,i->", x, y))


def _ratio(signal_energy: float, distortion: NDArray[np.float64], scale: float) -> float:
    energy = _dot(distortion, distortion)
    if energy <= _ROUNDING * scale:
        raise Undefined(INFINITE)
    # orthogonal signals: the logarithm of 0
    if signal_energy <= _ROUNDING * energy:
        raise Undefined("minus infinite: the resynthesis holds nothing of the reference")
    return float(10.0 * np.log10(signal_energy / energy))
