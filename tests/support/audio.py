"""Sound that tests of runs make themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def speech_like(seconds: float, rate: int, seed: int = 0) -> NDArray[np.float32]:
    """Glottal pulses of a gliding pitch through three formants, in syllables, with breath noise; shape (samples,)."""
    from scipy import signal

    generator = np.random.default_rng(seed)
    count = max(1, round(seconds * rate))
    time = np.arange(count) / rate
    pitch = 110 + 30 * np.sin(2 * np.pi * 0.7 * time + seed)
    pulses = np.diff(np.floor(np.cumsum(pitch) / rate), prepend=0.0)
    source = pulses + 0.02 * generator.standard_normal(count)
    voice = np.zeros(count)
    for formant, width in ((500 + 40 * seed % 200, 80), (1500, 120), (2600, 160)):
        if formant < rate / 2:
            radius = np.exp(-np.pi * width / rate)
            poles = [1, -2 * radius * np.cos(2 * np.pi * formant / rate), radius**2]
            voice += signal.lfilter([1 - radius], poles, source)
    voice *= 0.15 + np.square(np.sin(2 * np.pi * 1.6 * time))
    return (0.5 * voice / max(1e-9, float(np.abs(voice).max()))).astype(np.float32)
