"""Speech activity: which 4 ms windows of a signal hold speech, and how far they stand above the noise.

The threshold is found by repetition: windows below it are noise, their mean and spread give the next threshold.
Sums are float32 and in order, because a window that just passes or just misses decides where an utterance ends.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled
from codec_superb.metrics.p862.arithmetic.rows import LANES
from codec_superb.metrics.p862.arithmetic.vector import load_lanes, sum_squares
from codec_superb.metrics.p862.tables import OPTIONS

Signal = NDArray[np.float32]

# in windows of 4 ms: bursts below 16 ms, pauses below 200 ms
SHORTEST_SPEECH = 4
"""Windows; a shorter burst is not speech."""
LONGEST_PAUSE = 50
"""Windows; speech parted by less is one piece."""
ROUNDS = 12

_ZERO, _ONE = np.float32(0), np.float32(1)
_FLOOR = np.float32(1e-4)
# 1.001 and 2 standard deviations, as in the reference software; so are the numbers below
_MARGIN, _SPREADS = np.float32(1.001), np.float32(2)
_CLEAN, _WEAK = np.float32(1000), np.float32(3)
_NEAR, _FAR = np.float32(0.3), np.float32(0.1)


@compiled(**OPTIONS)
def _energies(signal: Signal, window: int, count: int) -> Signal:
    """Mean squares of windows, sixteen windows side by side; each is summed in the order of its samples."""
    energy = np.zeros(count + LANES, np.float32)
    starts, samples = np.empty(LANES, np.int64), np.empty(LANES * window, np.float32)
    plain = np.ones(window, np.float32)
    for begin in range(0, count, LANES):
        for lane in range(LANES):
            starts[lane] = min(begin + lane, count - 1) * window
        for i in range(0, window, LANES):
            load_lanes(signal, starts, plain, samples, i)
        sum_squares(samples, energy, window, begin)
    for i in range(count):
        energy[i] /= np.float32(window)
    return energy[:count]


@compiled(**OPTIONS)
def _noise_threshold(energy: Signal, threshold: np.float32) -> np.float32:
    # speech is what stands two standard deviations above the mean of everything that is not speech
    for _ in range(ROUNDS):
        noise, spread, count = _ZERO, _ZERO, 0
        for value in energy:  # to add nothing costs less than a branch
            quiet = value <= threshold
            noise += value if quiet else _ZERO
            count += 1 if quiet else 0
        if count > 0:
            noise /= np.float32(count)
            for value in energy:
                spread += (value - noise) * (value - noise) if value <= threshold else _ZERO
            spread = np.float32(math.sqrt(spread / np.float32(count)))
        last, threshold = threshold, _MARGIN * (noise + _SPREADS * spread)
        if threshold == last:  # and so it would stay
            break
    return threshold


@compiled(**OPTIONS)
def _levels(energy: Signal, threshold: np.float32) -> tuple[np.float32, np.float32, int]:
    speech, noise, count = _ZERO, _ZERO, 0
    for value in energy:
        loud = value > threshold
        speech += value if loud else _ZERO
        noise += _ZERO if loud else value
        count += 1 if loud else 0
    if count > 0:
        speech /= np.float32(count)
    quiet = len(energy) - count
    return speech, (noise / np.float32(quiet) if quiet > 0 else _ONE), count


@compiled(**OPTIONS)
def _flip(energy: Signal, start: int, stop: int) -> None:
    for i in range(start, stop):
        energy[i] = -energy[i]


@compiled(**OPTIONS)
def _drop_bursts(energy: Signal, weakest: np.float32, by_level: bool) -> None:
    """Call a run of speech noise again when it is too short, or too weak by level."""
    start = 0
    for i in range(1, len(energy)):
        if energy[i] > _ZERO and energy[i - 1] <= _ZERO:
            start = i
        if energy[i] <= _ZERO and energy[i - 1] > _ZERO:
            if by_level:
                total = _ZERO
                for value in energy[start:i]:
                    total += value
                dropped = bool(total < weakest * np.float32(i - start))
            else:
                dropped = i - start <= SHORTEST_SPEECH
            if dropped:
                _flip(energy, start, i)


@compiled(**OPTIONS)
def _join(energy: Signal, filling: np.float32) -> bool:
    """Fill short pauses; whether there is any speech."""
    stop, found = 0, False
    for i in range(1, len(energy)):
        if energy[i] > _ZERO and energy[i - 1] <= _ZERO:
            found = True
            if stop > 0 and i - stop <= LONGEST_PAUSE:
                energy[stop:i] = filling
        if energy[i] <= _ZERO and energy[i - 1] > _ZERO:
            stop = i
    return found


@compiled(**OPTIONS)
def _soften(energy: Signal) -> None:
    """Give each piece of speech two quieter windows at either end."""
    i = 3
    while i < len(energy) - 2:
        if energy[i] > _ZERO and energy[i - 2] <= _ZERO:
            energy[i - 2] = energy[i] * _FAR
            energy[i - 1] = energy[i] * _NEAR
            i += 1
        if energy[i] <= _ZERO and energy[i - 1] > _ZERO:
            energy[i] = energy[i - 1] * _NEAR
            energy[i + 1] = energy[i - 1] * _FAR
            i += 3
        i += 1


@compiled(**OPTIONS)
def _close_ends(energy: Signal, floor: np.float32) -> None:
    energy[0] = -floor
    energy[-1] = -floor


@compiled(**OPTIONS)
def _floor(energy: Signal) -> np.float32:
    loudest = _ZERO
    for value in energy:
        loudest = max(loudest, value)
    return loudest * _FLOOR if loudest > _ZERO else _ONE


@compiled(**OPTIONS)
def activity(signal: Signal, window: int, count: int) -> tuple[Signal, Signal]:
    """Energy of the first ``count`` windows that hold speech (0 elsewhere), and its logarithm above the threshold."""
    energy = _energies(signal, window, count)
    mean = _ZERO
    for value in energy:
        mean += value
    floor = _floor(energy)
    for i in range(count):
        energy[i] = max(energy[i], floor)
    threshold = _noise_threshold(energy, mean / np.float32(count))
    speech, noise, found = _levels(energy, threshold)
    if found == 0:
        threshold = -_ONE
    for i in range(count):
        if energy[i] <= threshold:
            energy[i] = -energy[i]
    _close_ends(energy, floor)
    _drop_bursts(energy, _ZERO, False)
    if speech >= noise * _CLEAN:
        _drop_bursts(energy, _WEAK * threshold, True)
    if not _join(energy, floor):
        energy = np.abs(energy)
        _close_ends(energy, floor)
    _soften(energy)
    return _above(energy, threshold if threshold > _ZERO else floor)


@compiled(**OPTIONS)
def _above(energy: Signal, threshold: np.float32) -> tuple[Signal, Signal]:
    logarithm = np.zeros(len(energy), np.float32)
    for i in range(len(energy)):
        energy[i] = max(energy[i], _ZERO)
        if energy[i] > threshold:
            logarithm[i] = np.float32(math.log(np.float64(energy[i] / threshold)))
    return energy, logarithm
