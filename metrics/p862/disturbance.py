"""From powers in Bark bands to the disturbance of each frame: loudness, masking, and the asymmetry of what is added."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled
from codec_superb.metrics.p862.arithmetic.powers import power_growth, ratio_powers
from codec_superb.metrics.p862.tables import LOUDNESS_CALIBRATION, OPTIONS, RateTables

Powers = NDArray[np.float32]
"""Shape (frames, bands)."""

# P.862: frames whose reference has less audible power take no part in the equalisation
SILENT_POWER = np.float32(1e7)
BAD_FRAME = np.float32(30)
"""Disturbance from which on a frame is suspected of being aligned badly."""

_ZERO = np.float32(0)
_AVERAGE_FLOOR = np.float32(1000)
# in power: 20 dB down and up
_LEAST_RESPONSE, _GREATEST_RESPONSE = np.float32(0.01), np.float32(100)
# the reference software adds 5e3 to both powers, and limits the gain to 3e-4 and 5
_GAIN_FLOOR = np.float32(5e3)
# a first-order low-pass over frames, which are 16 ms apart
_KEPT, _NEW = np.float32(0.2), np.float32(0.8)
_LEAST_GAIN, _GREATEST_GAIN = np.float32(3e-4), np.float32(5)
# P.862: a dead zone of a quarter of the softer loudness
_MASKED = np.float32(0.25)
# what was added weighs ((y + 50) / (x + 50)) ** 1.2 of the powers y over x, below 3 nothing, at most 12
_ASYMMETRY_FLOOR = np.float32(50)
_ASYMMETRY_POWER = float(np.float32(1.2))
_LEAST_ASYMMETRY, _GREATEST_ASYMMETRY = np.float32(3), np.float32(12)


@compiled(**OPTIONS)
def audible(powers: NDArray[np.float32], factor: float, rate: RateTables) -> np.float32:
    """Sum of a frame's band powers that are above ``factor`` times the threshold of hearing; the lowest is left out."""
    total = 0.0
    for band in range(1, len(powers)):
        if powers[band] > np.float32(factor * rate.threshold[band]):
            total += powers[band]
    return np.float32(total)


@compiled(**OPTIONS)
def _average(powers: Powers, silent: NDArray[np.bool_], frames: int, rate: RateTables) -> NDArray[np.float32]:
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


@compiled(**OPTIONS)
def equalise(reference: Powers, resynthesis: Powers, frames: int, rate: RateTables) -> None:
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


@compiled(**OPTIONS)
def _gain(reference: np.float32, resynthesis: np.float32, last: np.float32, smooth: bool) -> np.float32:
    gain = (reference + _GAIN_FLOOR) / (resynthesis + _GAIN_FLOOR)
    return _KEPT * last + _NEW * gain if smooth else gain


@compiled(**OPTIONS)
def _unmasked(reference: np.float32, resynthesis: np.float32) -> np.float32:
    """Difference in loudness less what a quarter of the softer one masks."""
    difference = resynthesis - reference
    masked = min(resynthesis, reference) * _MASKED
    return max(difference - masked, _ZERO) + min(difference + masked, _ZERO)


@compiled(**OPTIONS)
def _weights(reference: NDArray[np.float32], resynthesis: NDArray[np.float32], weights: NDArray[np.float32]) -> None:
    """How much what the codec added to a band counts: not at all unless it is much, at most 12 times."""
    ratio_powers(resynthesis, reference, _ASYMMETRY_FLOOR, _ASYMMETRY_POWER, weights)
    for band in range(len(weights)):
        weight = min(weights[band], _GREATEST_ASYMMETRY)
        weights[band] = weight if weight >= _LEAST_ASYMMETRY else _ZERO


@compiled(**OPTIONS)
def _frame_disturbance(
    reference: NDArray[np.float32], resynthesis: NDArray[np.float32], rate: RateTables, room: NDArray[np.float32]
) -> tuple[np.float32, np.float32]:
    """Symmetric and added disturbance of one frame; the lowest band does not count."""
    reference, resynthesis = reference[1:], resynthesis[1:]
    hearing, exponent, loudness, width = rate.hearing[1:], rate.exponent[1:], rate.loudness[1:], rate.width[1:]
    one, other, weights = room[0], room[1], room[2]
    power_growth(reference, hearing, exponent, loudness, one)
    power_growth(resynthesis, hearing, exponent, loudness, other)
    _weights(reference, resynthesis, weights)
    for band in range(len(one)):
        difference = abs(_unmasked(one[band] * LOUDNESS_CALIBRATION, other[band] * LOUDNESS_CALIBRATION))
        one[band] = difference * width[band]
        other[band] = difference * weights[band] * width[band]
    squares, added, widths = 0.0, 0.0, 0.0
    for band in range(len(one)):
        widths += width[band]
        squares += np.float64(one[band]) * np.float64(one[band])
        added += other[band]
    # the 2-norm of what differs and the 1-norm of what was added, over Bark; the division and the product both round
    return np.float32(math.sqrt(squares / widths) * widths), np.float32(added / widths * widths)


@compiled(**OPTIONS)
def disturbances(
    reference: Powers, resynthesis: Powers, first: int, rate: RateTables
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Symmetric and added disturbance, and the reference's audible power, of frames ``first``, ``first + 1``, ...

    Slow changes of gain are levelled out before: the resynthesis is multiplied in place.
    """
    frames = len(reference)
    both, added, power = (np.empty(frames, np.float32), np.empty(frames, np.float32), np.empty(frames, np.float32))
    room = np.empty((3, reference.shape[1] - 1), np.float32)
    last = np.float32(1)
    for frame in range(frames):
        power[frame] = audible(reference[frame], 1.0, rate)
        last = _gain(power[frame], audible(resynthesis[frame], 1.0, rate), last, first + frame > 0)
        gain = max(min(last, _GREATEST_GAIN), _LEAST_GAIN)
        for band in range(reference.shape[1]):
            resynthesis[frame, band] *= gain
        both[frame], added[frame] = _frame_disturbance(reference[frame], resynthesis[frame], rate, room)
    return both, added, power
