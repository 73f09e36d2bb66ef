"""A compact picture of a clip's sound, by which a listening sample is recognised as that of the clip.

The level of four bands every fifth of a second of the first ten seconds, a byte each: enough to tell one clip from
another, and far too little to hear anything. Opus at the bitrate of samples changes it by less than a decibel.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

FRAME_S = 0.2
FRAMES = 50
"""Ten seconds: what a sample holds at most."""
EDGES_HZ = (80.0, 400.0, 1000.0, 2500.0, 6000.0)
"""Bands between them; one that lies above half the sampling rate is silent in both."""
_LOWEST_DB = -110.0
_STEPS_PER_DB = 2
_RANGE_DB = 40.0
"""Below the loudest cell of either sound; what is weaker is the coder's business."""


def fingerprint(audio: NDArray[np.float32], rate: int, frames: int | None = None) -> bytes:
    """Return the levels of mono ``audio`` in [-1, 1], shape ``(samples,)``, at ``rate`` Hz, frame after frame.

    As many ``frames`` as are given, padded with silence, else the whole ones among the first :data:`FRAMES`, at least
    one. A byte is half a decibel above -110 dB of full scale; 0 is silence.
    """
    size = round(FRAME_S * rate)
    count = min(FRAMES, max(1, int(audio.size / (FRAME_S * rate)))) if frames is None else frames
    starts = [round(number * FRAME_S * rate) for number in range(count)]
    padded = np.zeros(starts[-1] + size)
    length = min(padded.size, audio.size)
    padded[:length] = audio[:length]
    window = np.hanning(size)
    spectra = np.fft.rfft(np.stack([padded[start : start + size] for start in starts]) * window)
    # Parseval: powers do not depend on the sampling rate
    powers = 2 * np.abs(spectra) ** 2 / (size * float(window @ window))
    places = np.fft.rfftfreq(size, 1 / rate)
    bands = [powers[:, (places >= low) & (places < high)].sum(axis=1) for low, high in pairwise(EDGES_HZ)]
    levels = 10 * np.log10(np.maximum(np.stack(bands, axis=1), 1e-20))
    steps: NDArray[np.float64] = np.clip(np.rint((levels - _LOWEST_DB) * _STEPS_PER_DB), 0, 255)
    return steps.astype(np.uint8).tobytes()


def frames_of(print_of_clip: bytes) -> int:
    """Return the number of frames of a fingerprint."""
    return len(print_of_clip) // (len(EDGES_HZ) - 1)


def is_silent(print_of_clip: bytes) -> bool:
    """Whether nothing of the sound lies in the bands."""
    return not any(print_of_clip)


def distance(one: bytes, two: bytes) -> float:
    """Return the mean difference in decibels of two fingerprints of as many frames, where either has sound.

    Raises ValueError for fingerprints of different lengths.
    """
    if len(one) != len(two):
        raise ValueError(f"expected fingerprints of one length, got {len(one)} and {len(two)} bytes")
    first, second = (np.frombuffer(data, np.uint8) / _STEPS_PER_DB for data in (one, two))
    floor = max(first.max(initial=0), second.max(initial=0)) - _RANGE_DB
    heard = np.maximum(first, second) > max(floor, 0)
    difference = np.abs(np.maximum(first, floor) - np.maximum(second, floor))[heard]
    return float(difference.mean()) if difference.size else 0.0
