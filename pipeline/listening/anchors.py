"""The degraded versions of a reference whose place on a scale is known: low-pass anchors and modulated noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codec_superb.pipeline.errors import PipelineError

Floats = NDArray[np.float32]

LOW, MID = 3500.0, 7000.0
"""Hz: the low and the mid anchor of ITU-R BS.1534-3."""
LEAST_RATE = 16_000
"""Hz: below this sampling rate the mid anchor is the reference itself."""
_TRANSITION = 500.0
"""Hz from the end of the pass band to full attenuation; BS.1534-3 asks for 25 dB there, and 50 dB after another 500."""
_ATTENUATION = 60.0
"""dB; the ripple of the pass band is then a thousandth, 0.01 dB, where 0.1 dB is allowed."""
NOISE_Q = 0.0
"""dB of speech over modulated noise (ITU-T P.810) in a gold question: heard as bad by everybody."""


def low_pass(audio: Floats, rate: int, cutoff: float) -> Floats:
    """Keep of ``audio``, shape ``(samples,)``, what lies below ``cutoff`` Hz; no delay, the same length.

    A linear-phase filter with a Kaiser window, the pass band up to ``cutoff``. Raises PipelineError for a rate that
    has nothing above it.
    """
    from scipy.signal import fftconvolve, firwin, kaiserord

    if rate < LEAST_RATE:
        raise PipelineError(
            f"expected sound of at least {LEAST_RATE} Hz for anchors of {LOW / 1000:g} and {MID / 1000:g} kHz, got "
            f"{rate} Hz; make the test without anchors: `anchors: false`"
        )
    # Kaiser's formula; its width is a share of half the sampling rate
    length, beta = kaiserord(_ATTENUATION, _TRANSITION / (rate / 2))
    # an odd number of taps delays by whole samples, which mode="same" takes away
    taps = firwin(length | 1, cutoff + _TRANSITION / 2, window=("kaiser", beta), fs=rate)
    found: Floats = fftconvolve(audio.astype(np.float64), taps, mode="same").astype(np.float32)
    return found


def modulated_noise(audio: Floats, seed: int, q: float = NOISE_Q) -> Floats:
    """Add to ``audio``, shape ``(samples,)``, its product with noise, ``q`` dB below it (ITU-T P.810), in [-1, 1]."""
    noise = np.random.default_rng(seed).standard_normal(audio.size)
    noisy = audio * (1 + 10 ** (-q / 20) * noise)
    return np.clip(noisy, -1, 1).astype(np.float32)
