"""Conditions of the sound before the encoder: pure functions of mono samples ``(samples,)``, in double precision."""

from __future__ import annotations

import numpy as np

from codec_superb.metrics.noise.mixing import Inapplicable, power
from codec_superb.metrics.noise.random_numbers import Floats, gaussian

PASS_HZ = (300.0, 3400.0)
"""Band of ITU-T G.712."""
TRANSITION_HZ = 200.0
STOP_DB = 66.0
"""Kaiser's estimate; with this one the filter reaches 60 dB."""
FIRST_REFLECTION_S = 0.002


def level_gain(samples: Floats, level: float) -> float:
    """Return the gain that puts the largest sample at ``level`` dBFS."""
    power(samples)
    return float(10 ** (level / 20) / np.max(np.abs(samples)))


def telephone(samples: Floats, rate: int) -> Floats:
    """Limit to the telephone band, without delay.

    The edges of the filter (6 dB down) lie half a transition outside the band. Raises Inapplicable for a rate
    below 1 kHz.
    """
    from scipy import signal

    half = rate / 2
    if half <= PASS_HZ[0] + TRANSITION_HZ:
        raise Inapplicable(f"expected a clip of 1000 Hz or more for the telephone band, got {rate} Hz")
    edges = [PASS_HZ[0] - TRANSITION_HZ / 2, PASS_HZ[1] + TRANSITION_HZ / 2]
    if edges[1] + TRANSITION_HZ / 2 >= half:  # nothing above the band
        edges = edges[:1]
    taps, beta = signal.kaiserord(STOP_DB, TRANSITION_HZ / half)
    taps |= 1  # odd: the delay is a whole number of samples
    kernel = signal.firwin(taps, edges, window=("kaiser", beta), pass_zero=False, fs=rate)
    limited: Floats = signal.fftconvolve(samples, kernel)[taps // 2 : taps // 2 + samples.size]
    return limited


def room(bits: np.random.PCG64, rt60: float, rate: int) -> Floats:
    """Return the impulse response of a room: the direct path at 0, and a diffuse tail of its energy.

    The tail decays by 60 dB in ``rt60`` seconds and ends at 90 dB below its start.
    """
    tail = gaussian(bits, max(2, round(1.5 * rt60 * rate)))
    tail *= 10 ** (-3 * np.arange(tail.size) / (rt60 * rate))
    tail /= np.sqrt(np.sum(np.square(tail)))
    response: Floats = np.concatenate([[1.0], np.zeros(max(0, round(FIRST_REFLECTION_S * rate) - 1)), tail])
    return response


def reverberated(samples: Floats, response: Floats) -> Floats:
    """Convolve with a room, at the power and the length of the clip."""
    from scipy import signal

    wet: Floats = signal.fftconvolve(samples, response)[: samples.size]
    wet *= np.sqrt(power(samples) / power(wet))
    return wet
