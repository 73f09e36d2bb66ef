"""From powers in Bark bands to the disturbance of each frame: loudness, masking, and the asymmetry of what is added."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from codec_superb.metrics.p862.tables import LOUDNESS_CALIBRATION, OPTIONS, Rate

Powers = NDArray[np.float32]
"""Shape (frames, bands)."""

SILENT_POWER = np.float32(1e7)
BAD_FRAME = np.float32(30)
"""Disturbance from which on a frame is suspected of being aligned badly."""

_ZERO = np.float32(0)
_AVERAGE_FLOOR = np.float32(1000)
_LEAST_RESPONSE, _GREATEST_RESPONSE = np.float32(0.01), np.float32(100)
_GAIN_FLOOR = np.float32(5e3)
_KEPT, _NEW = np.float32(0.2), np.float32(0.8)
_LEAST_GAIN, _GREATEST_GAIN = np.float32(3e-4), np.float32(5)
_MASKED = np.float32(0.25)
_ASYMMETRY_FLOOR = np.float32(50)
_ASYMMETRY_POWER = float(np.float32(1.2))
_LEAST_ASYMMETRY, _GREATEST_ASYMMETRY = np.float32(3), np.float32(12)
_NEVER_BELOW, _ALWAYS_ABOVE = np.float32(2.49), np.float32(7.94)
"""Ratios below and above which the asymmetry is 0 or 12 without working out its power."""


@njit(**OPTIONS)
def audible(powers: NDArray[np.float32], factor: float, rate: Rate) -> np.float32:
    """Sum of a frame's band powers that are above ``factor`` times the threshold of hearing; the lowest is left out."""
    total = 0.0
    for band in range(1, len(powers)):
        if powers[band] > np.float32(factor * rate.threshold[band]):
            total += powers[band]
    return np.float32(total)


@njit(**OPTIONS)
def _average(powers: Powers, silent: NDArray[np.bool_], frames: int, rate: Rate) -> NDArray[np.float32]:
    totals = np.zeros(powers.shape[1])
    for frame in range(len(powers)):
        if not silent[frame]:
            for band in range(len(totals)):
                if powers[frame, band] > 100 * rate.threshold[band]:
                    totals[band] += powers[frame, band]
    average = np.empty(len(totals), np.float32)
    for band in range(len(totals)):
        average[band] = np.float32(totals[band] / frames)
    return average


@njit(**OPTIONS)
def equalise(reference: Powers, resynthesis: Powers, frames: int, rate: Rate) -> None:
    """Give the reference, in place, the frequency response of the resynthesis, within 20 dB.

    ``frames`` is the number by which averages over frames with speech are divided.
    """
    silent = np.zeros(len(reference), np.bool_)
    for frame in range(len(reference)):
        silent[frame] = audible(reference[frame], 100.0, rate) < SILENT_POWER
    ours, theirs = _average(reference, silent, frames, rate), _average(resynthesis, silent, frames, rate)
    for band in range(reference.shape[1]):
        response = (theirs[band] + _AVERAGE_FLOOR) / (ours[band] + _AVERAGE_FLOOR)
        response = max(min(response, _GREATEST_RESPONSE), _LEAST_RESPONSE)
        for frame in range(len(reference)):
            reference[frame, band] *= response


@njit(**OPTIONS)
def _gain(reference: np.float32, resynthesis: np.float32, last: np.float32, smooth: bool) -> np.float32:
    gain = (reference + _GAIN_FLOOR) / (resynthesis + _GAIN_FLOOR)
    return _KEPT * last + _NEW * gain if smooth else gain


@njit(**OPTIONS)
def _loudness(power: np.float32, band: int, rate: Rate) -> np.float32:
    threshold = np.float32(rate.threshold[band])
    if power <= threshold:
        return _ZERO
    above = math.pow(0.5 + 0.5 * power / np.float64(threshold), rate.exponent[band]) - 1
    return np.float32(rate.loudness[band] * above) * LOUDNESS_CALIBRATION


@njit(**OPTIONS)
def _unmasked(reference: np.float32, resynthesis: np.float32) -> np.float32:
    """Difference in loudness less what a quarter of the softer one masks."""
    difference = resynthesis - reference
    masked = min(resynthesis, reference) * _MASKED
    if difference > masked:
        return difference - masked
    if difference < -masked:
        return difference + masked
    return _ZERO


@njit(**OPTIONS)
def _asymmetry(reference: np.float32, resynthesis: np.float32) -> np.float32:
    """Weight of what the codec added to a band: 0 unless it is much, at most 12."""
    ratio = (resynthesis + _ASYMMETRY_FLOOR) / (reference + _ASYMMETRY_FLOOR)
    if ratio < _NEVER_BELOW:
        return _ZERO
    if ratio > _ALWAYS_ABOVE:
        return _GREATEST_ASYMMETRY
    weight = np.float32(math.pow(np.float64(ratio), _ASYMMETRY_POWER))
    return min(weight, _GREATEST_ASYMMETRY) if weight >= _LEAST_ASYMMETRY else _ZERO


@njit(**OPTIONS)
def _frame_disturbance(
    reference: NDArray[np.float32], resynthesis: NDArray[np.float32], rate: Rate
) -> tuple[np.float32, np.float32]:
    squares, added, widths = 0.0, 0.0, 0.0
    for band in range(1, len(reference)):
        width = rate.width[band]
        one, other = _loudness(reference[band], band, rate), _loudness(resynthesis[band], band, rate)
        difference = _unmasked(one, other)
        widths += width
        if difference != 0:
            both = np.float64(abs(difference) * width)
            squares += both * both
            added += np.float64(abs(difference * _asymmetry(reference[band], resynthesis[band])) * width)
    return np.float32(math.sqrt(squares / widths) * widths), np.float32(added / widths * widths)


@njit(**OPTIONS)
def disturbances(
    reference: Powers, resynthesis: Powers, first: int, rate: Rate
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Symmetric and added disturbance, and the reference's audible power, of frames ``first``, ``first + 1``, ...

    Slow changes of gain are levelled out before: the resynthesis is multiplied in place.
    """
    frames = len(reference)
    both, added, power = (np.empty(frames, np.float32), np.empty(frames, np.float32), np.empty(frames, np.float32))
    last = np.float32(1)
    for frame in range(frames):
        power[frame] = audible(reference[frame], 1.0, rate)
        last = _gain(power[frame], audible(resynthesis[frame], 1.0, rate), last, first + frame > 0)
        gain = max(min(last, _GREATEST_GAIN), _LEAST_GAIN)
        for band in range(reference.shape[1]):
            resynthesis[frame, band] *= gain
        both[frame], added[frame] = _frame_disturbance(reference[frame], resynthesis[frame], rate)
    return both, added, power
