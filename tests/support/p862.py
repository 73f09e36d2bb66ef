"""Synthetic speech and its damages for the tests of PESQ: seeded, 16 kHz, float32."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, lfilter, sosfilt

RATE = 16000
Signal = NDArray[np.float32]
_VOWELS = ((700, 1200, 2600), (300, 2200, 3000), (450, 800, 2500), (550, 1800, 2600), (350, 1000, 2400))


def _voiced(random: np.random.Generator, samples: int) -> NDArray[np.float64]:
    """Pulses of a moving pitch through three formants."""
    pitch = random.uniform(90, 220) * (1 + 0.1 * np.sin(np.arange(samples) / RATE * random.uniform(6, 20)))
    phase = np.cumsum(pitch / RATE)
    sound = np.diff(np.floor(phase), prepend=0.0) + 0.002 * random.standard_normal(samples)
    for hertz in _VOWELS[int(random.integers(len(_VOWELS)))]:
        radius, angle = np.exp(-np.pi * 90 / RATE), 2 * np.pi * hertz / RATE
        sound = lfilter([1 - radius], [1, -2 * radius * np.cos(angle), radius**2], sound)
    return np.asarray(sound / (np.abs(sound).max() + 1e-9))


def speech(seconds: float, seed: int) -> Signal:
    """Syllables of vowels and hisses with pauses between words."""
    random = np.random.default_rng([862, seed])
    pieces: list[NDArray[np.float64]] = [np.zeros(int(0.15 * RATE))]
    while sum(map(len, pieces)) < seconds * RATE:
        samples = int(random.uniform(0.08, 0.25) * RATE)
        if random.random() < 0.25:
            sound = np.diff(random.standard_normal(samples + 1)) * 0.1
        else:
            sound = _voiced(random, samples) * random.uniform(0.3, 1)
        pieces.append(sound * np.hanning(samples) ** 0.3)
        if random.random() < 0.15:
            pieces.append(np.zeros(int(random.uniform(0.1, 0.6) * RATE)))
    sound = np.concatenate(pieces)[: int(seconds * RATE)]
    return (0.5 * sound + 1e-4 * random.standard_normal(len(sound))).astype(np.float32)


def damaged(signal: Signal, seed: int) -> Signal:
    """Band limit, noise, quantisation, gaps, delay, changes of delay and level: which of them, the seed decides."""
    random = np.random.default_rng([2863, seed])
    out = signal.astype(np.float64)
    if random.random() < 0.5:
        out = np.asarray(sosfilt(butter(4, random.uniform(1000, 7000), fs=RATE, output="sos"), out))
    if random.random() < 0.5:
        out = out + random.standard_normal(len(out)) * 10 ** random.uniform(-4, -1.3)
    if random.random() < 0.4:
        step = 10 ** random.uniform(-3, -1)
        out = np.round(out / step) * step
    if random.random() < 0.4:
        for _ in range(int(random.integers(1, 6))):
            start = int(random.integers(0, len(out)))
            out[start : start + int(random.uniform(0.01, 0.2) * RATE)] = 0
    if random.random() < 0.4:
        start = int(random.integers(0, len(out)))
        out = np.concatenate([out[:start], np.zeros(int(random.uniform(0, 0.06) * RATE)), out[start:]])
    if random.random() < 0.5:
        out = np.concatenate([np.zeros(int(random.uniform(0, 0.5) * RATE)), out])
    out = np.pad(out, (0, max(0, len(signal) - len(out))))[: len(signal)]
    return (out * 10 ** random.uniform(-1, 0.2)).astype(np.float32)
