"""Bring both signals to the same level and through the listener's filter, and make the copies used for alignment.

The recursive filters and the sums before them round like float32 programmes that do one operation after the other.
That is needed: the wide-band filter stores numbers some 700 times the size of its output, its rounding noise is
heard by the perceptual model, and digital silence keeps that noise as its only content during time alignment.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled
from codec_superb.metrics.p862.arithmetic.exact_fft import filter_room, filtered, next_power_of_two, twiddle_factors
from codec_superb.metrics.p862.arithmetic.rows import LANES
from codec_superb.metrics.p862.arithmetic.vector import cascade
from codec_superb.metrics.p862.tables import (
    ACTIVE_POWER,
    OPTIONS,
    RECEIVER,
    SPEECH_BAND,
    FrequencyResponse,
    rate_tables,
)

Signal = NDArray[np.float32]

FADE = 16
"""Samples of the linear fade at either end before the wide-band filter."""
_SILENT_DB, _SILENT = -201.0, 1e-14
"""A bin this weak changes no bit of a sum with others."""


@compiled(**OPTIONS)
def _weights(
    hertz: NDArray[np.float64], decibel: NDArray[np.float64], subtract: np.float32, resolution: np.float32, bins: int
) -> Signal:
    weights = np.empty(bins, np.float32)
    segment = 0
    for k in range(bins):
        frequency = np.float64(np.float32(k) * resolution)
        while segment < len(hertz) - 2 and hertz[segment + 1] < frequency:
            segment += 1
        low, high = hertz[segment], hertz[segment + 1]
        level = (frequency - low) * decibel[segment + 1] + (high - frequency) * decibel[segment]
        relative = (np.float32(level / (high - low)) - subtract) / np.float32(20)
        weights[k] = np.float32(math.pow(10.0, np.float64(relative)))
    return weights


@lru_cache(maxsize=16)
def _gains(curve: FrequencyResponse, rate: int, size: int) -> Signal:
    """Weights of the bins of a transform of ``size`` samples, up to the last that ``curve`` lets through."""
    resolution = np.float32(rate) / np.float32(size)
    heard = np.flatnonzero(np.array(curve.decibel) > _SILENT_DB)
    above = curve.hertz[min(int(heard[-1]) + 1, len(curve.hertz) - 1)]
    bins = min(int(above / resolution), size // 2) + 1
    hertz, decibel = np.array(curve.hertz, float), np.array(curve.decibel, float)
    weights: Signal = _weights(hertz, decibel, np.float32(curve.at_1_khz), resolution, bins)
    return weights[: int(np.flatnonzero(weights > _SILENT)[-1]) + 1]


# the sum is float64 and what comes of it float32, so that the order of summing does not show
@compiled(**OPTIONS, fastmath={"reassoc"})
def _squares(band: Signal, scale: np.float32) -> float:
    total = 0.0
    for i in range(len(band)):  # by index: the compiler works on many samples at once only so
        value = band[i] * scale
        total += np.float64(value * value)
    return total


def _through(signal: Signal, curve: FrequencyResponse, rate: int) -> tuple[Signal, np.float32]:
    """``signal`` filtered, in the calling thread's room, and the factor that it has yet to be multiplied by."""
    size = next_power_of_two(len(signal))
    band: Signal = filtered(signal, _gains(curve, rate, size), twiddle_factors(size), filter_room(size))
    return band[: len(signal)], np.float32(1 / size)


def level_factor(signal: Signal, rate: int, divisor: int) -> float:
    """Factor that brings the speech band of ``signal`` to ``ACTIVE_POWER``, summed and divided by ``divisor``.

    ``signal`` ends with the padding. inf where the band is empty.
    """
    power = float(np.float32(_squares(*_through(signal, SPEECH_BAND, rate)) / divisor))
    return float(np.float32(math.sqrt(ACTIVE_POWER / power))) if power > 0 else math.inf


def receiver_filter(signal: Signal, rate: int) -> None:
    """Pass ``signal``, padding included, through the telephone receiver, in place."""
    band, scale = _through(signal, RECEIVER, rate)
    np.multiply(band, scale, out=signal)


@compiled(**OPTIONS)
def fade_ends(signal: Signal, start: int, stop: int) -> None:
    """Apply the linear fades that the wide-band filter wants at ``signal[start]`` and ``signal[stop - 1]``."""
    for i in range(FADE):
        weight = np.float32(i) / np.float32(FADE)
        signal[start + i - 1] *= weight
        signal[stop - i] *= weight


def _lanes(sections: Signal) -> Signal:
    """Sections in the last lanes of ``cascade``; those before them pass samples on unchanged."""
    rows = np.zeros((5, LANES), np.float32)
    rows[0] = 1
    rows[:, LANES - len(sections) :] = sections.T
    return rows.ravel()


@lru_cache(maxsize=2)
def alignment_lanes(rate: int) -> Signal:
    """Return the filter before time alignment as ``recursive`` takes it."""
    return _lanes(rate_tables(rate).alignment)


@compiled(**OPTIONS)
def one_section(first: Signal, second: Signal, section: Signal) -> None:
    """Both signals, of the same length, through one second-order section, in place: two chains that run together."""
    b0, b1, b2, a1, a2 = section[0], section[1], section[2], section[3], section[4]
    z1, z2, y1, y2 = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    for i in range(len(first)):
        z0 = (first[i] - a1 * z1) - a2 * z2
        y0 = (second[i] - a1 * y1) - a2 * y2
        first[i] = (b0 * z0 + b1 * z1) + b2 * z2
        second[i] = (b0 * y0 + b1 * y1) + b2 * y2
        z1, z2, y1, y2 = z0, z1, y0, y1


@compiled(**OPTIONS)
def recursive(first: Signal, second: Signal, lanes: Signal) -> None:
    """Both signals, of the same length, through a cascade of second-order sections, in place."""
    cascade(first, second, lanes, len(first))


@compiled(**OPTIONS)
def without_offset(both: Signal, start: int, stops: tuple[int, int], lengths: tuple[int, int], fade: int) -> None:
    """Take the mean out of ``both[i, start:stops[i]]``, in place, and fade its ends over ``fade`` samples.

    The mean is the sum divided by ``lengths[i]``.
    """
    first, second = np.float32(0), np.float32(0)
    for i in range(start, min(stops[0], stops[1])):
        first += both[0, i]
        second += both[1, i]
    for i in range(stops[1], stops[0]):
        first += both[0, i]
    for i in range(stops[0], stops[1]):
        second += both[1, i]
    for which, total in enumerate((first, second)):
        signal, stop = both[which], stops[which]
        mean = total / np.float32(lengths[which])
        for i in range(start, stop):
            signal[i] -= mean
        for i in range(fade):
            weight = (np.float32(0.5) + np.float32(i)) / np.float32(fade)
            signal[start + i] *= weight
            signal[stop - 1 - i] *= weight
