"""Synthetic speech, singing and noise for the tests of metrics: seeded, and made at test time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, lfilter, sosfilt

Samples = NDArray[np.float64]

_FORMANTS = ((730, 1090, 2440), (270, 2290, 3010), (530, 1840, 2480), (300, 870, 2240), (570, 840, 2410))
"""Hz; five vowels."""


def speech(rate: int = 16_000, seconds: float = 2.5, seed: int = 1, pitch: float = 120.0) -> Samples:
    """Return syllables of a moving pitch between pauses: pulses through formants, and a little breath."""
    generator = np.random.default_rng(seed)
    parts: list[Samples] = []
    while sum(map(len, parts)) < seconds * rate:
        parts.append(_syllable(rate, generator, pitch * 2.0 ** generator.uniform(-0.3, 0.3)))
        parts.append(np.zeros(int(rate * generator.uniform(0.02, 0.12))))
    sound = np.concatenate(parts)[: int(seconds * rate)]
    sound = sound / np.abs(sound).max() * 0.5
    return sound + 2e-4 * generator.standard_normal(sound.size)


def _syllable(rate: int, generator: np.random.Generator, pitch: float) -> Samples:
    count = int(rate * generator.uniform(0.15, 0.4))
    contour = pitch * 2.0 ** (generator.uniform(-0.4, 0.4) * np.linspace(0.0, 1.0, count))
    phase = np.cumsum(contour) / rate
    sound = np.diff(np.floor(phase), prepend=0.0) + 0.01 * generator.standard_normal(count)
    for formant in _FORMANTS[generator.integers(len(_FORMANTS))]:
        radius = np.exp(-np.pi * 90.0 / rate)
        sound = lfilter([1.0], [1.0, -2.0 * radius * np.cos(2.0 * np.pi * formant / rate), radius**2], sound)
    return np.asarray(sound * np.hanning(count) ** 0.5, dtype=np.float64)


def singing(rate: int = 16_000, seconds: float = 2.5, semitones: float = 0.0) -> Samples:
    """Return a sung scale with vibrato, transposed by ``semitones``."""
    time = np.arange(int(rate * seconds)) / rate
    steps = np.array([0, 2, 4, 5, 7, 9, 11, 12])[np.minimum((time * 4).astype(int), 7)]
    contour = 220.0 * 2.0 ** ((steps + semitones + 0.3 * np.sin(2 * np.pi * 5.5 * time)) / 12.0)
    phase = 2.0 * np.pi * np.cumsum(contour) / rate
    return np.asarray(sum(0.3 / k * np.sin(k * phase) for k in range(1, 8)), dtype=np.float64)


def coded(sound: Samples, rate: int, seed: int = 2, noise: float = 0.01, cutoff: float = 3400.0) -> Samples:
    """Return ``sound`` as a poor codec gives it back: a lower bandwidth, and noise that follows its level."""
    generator = np.random.default_rng(seed)
    low = sosfilt(butter(4, cutoff, fs=rate, output="sos"), sound)
    level = lfilter([0.01], [1.0, -0.99], np.abs(sound))
    return np.asarray(low + noise * generator.standard_normal(sound.size) * (0.1 + level / level.max()))


def noise(rate: int = 16_000, seconds: float = 1.0, seed: int = 3, level: float = 0.1) -> Samples:
    """Return white noise."""
    return level * np.random.default_rng(seed).standard_normal(int(rate * seconds))
