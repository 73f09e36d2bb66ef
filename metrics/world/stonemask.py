"""StoneMask (Morise 2010): refine a pitch by the instantaneous frequencies of its harmonics.

The reference implementation transforms each frame twice and uses at most eight bins of some thousand; here those bins
alone are summed. Positions are rounded as there, to the bit: at 44.1 kHz every other frame lies between two samples.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled
from codec_superb.metrics.world.contour import FRAME_MS

Reals = NDArray[np.float64]

_LOWEST = 40.0
"""Hz, a constant of WORLD."""
_LOG_2 = 0.69314718055994529
_BLOCK = 64
"""Samples that share one turn of the phase."""
_FEW, _MANY = 2, 6
"""Harmonics of the first and of the second estimate."""
_TRUST = 0.2
"""Relative correction beyond which the first pitch stays."""
_TIE = 1e-6


def refined(samples: Reals, rate: int, coarse: Reals) -> Reals:
    """Return ``coarse``, F0 in Hz every 5 ms with 0 where unvoiced, with each voiced value refined."""
    return _refined(samples, rate, coarse, _wave(rate))


@lru_cache(maxsize=8)
def _wave(rate: int) -> Reals:
    """Return a cosine and a sine of the length of the longest transform, shape ``(2, length)``."""
    length = _length(int(1.5 * rate / _LOWEST + 1.0))
    angle = 2.0 * np.pi * np.arange(length) / length
    return np.stack([np.cos(angle), np.sin(angle)])


@compiled(error_model="numpy")
def _length(half: int) -> int:
    """Return the length of WORLD's transform for a window of ``2 * half + 1`` samples: two to four times that."""
    return 1 << (2 + int(np.log(half * 2.0 + 1.0) / _LOG_2))


@compiled(error_model="numpy")
def _refined(samples: Reals, rate: int, coarse: Reals, wave: Reals) -> Reals:
    out = np.zeros(coarse.size)
    longest = 2 * int(1.5 * rate / _LOWEST + 1.0) + 2
    window, room = np.empty(longest), np.empty((5, longest + _BLOCK))
    for frame in range(coarse.size):
        pitch = coarse[frame]
        if pitch <= _LOWEST or pitch > rate / 12.0:
            continue
        half = int(1.5 * rate / pitch + 1.0)
        size = 2 * half + 1
        padded = (size + _BLOCK - 1) // _BLOCK * _BLOCK
        main, slope = room[2, :padded], room[3, :padded]
        _windowed(samples, rate, frame * FRAME_MS / 1000.0, half, window[:size], room, main, slope)
        mean = _instantaneous(main, slope, rate, pitch, _length(half), wave)
        out[frame] = pitch if abs(mean - pitch) > pitch * _TRUST else mean
    return out


@compiled(error_model="numpy")
def _windowed(
    samples: Reals, rate: int, position: float, half: int, window: Reals, room: Reals, main: Reals, slope: Reals
) -> None:
    """Fill ``main`` and ``slope`` with the samples under a Blackman window around ``position`` and under its slope."""
    size = window.size
    centre = position * rate
    first = int(np.floor(centre + 0.5)) - half
    tie = abs(centre - np.floor(centre) - 0.5) < _TIE
    if tie:
        first = int(np.floor(centre)) - half
    # WORLD counts samples from 1 here, so that sample and window are moved by one
    seconds = (2.0 * half + 1.0) / rate
    begin = 2.0 * np.pi * ((first - 1.0) / rate - position) / seconds
    cosine = room[0, : size + 1]
    _cosines(begin, 2.0 * np.pi / size, cosine, room[1, : size + 1])
    if not tie and 1 <= first <= samples.size - size + 1:
        _weigh(samples[first - 1 : first - 1 + size], cosine, window, main, slope)
    else:
        shifted = 0
        for k in range(size):
            if tie:
                shifted = _rounded((position + (k - half) / rate) * rate) - first - k
            room[1, k] = cosine[k + shifted]
            at = min(max(first + k + shifted - 1, 0), samples.size - 1)
            room[4, k] = samples[at]
        _weigh(room[4, :size], room[1, :size], window, main, slope)
    main[size:] = 0.0
    slope[size:] = 0.0


@compiled(error_model="numpy")
def _weigh(samples: Reals, cosine: Reals, window: Reals, main: Reals, slope: Reals) -> None:
    """Fill ``window`` with a Blackman window of ``cosine``, ``main`` and ``slope`` with what is seen through it."""
    size = window.size
    for k in range(size):
        window[k] = 0.34 + cosine[k] * (0.5 + 0.16 * cosine[k])
    for k in range(size):
        main[k] = samples[k] * window[k]
    slope[0] = -0.5 * window[1] * samples[0]
    inner, before, after, here = slope[1 : size - 1], window[: size - 2], window[2:size], samples[1 : size - 1]
    for k in range(inner.size):
        inner[k] = -0.5 * (after[k] - before[k]) * here[k]
    slope[size - 1] = 0.5 * window[size - 2] * samples[size - 1]


@compiled(error_model="numpy")
def _rounded(x: float) -> int:
    return int(x + 0.5) if x > 0.0 else int(x - 0.5)


@compiled(error_model="numpy")
def _cosines(begin: float, step: float, cosine: Reals, sine: Reals) -> None:
    """Fill ``cosine`` with a cosine from ``begin`` in steps of ``step``: what is there is doubled by turning it on."""
    cosine[0], sine[0] = np.cos(begin), np.sin(begin)
    done = 1
    while done < cosine.size:
        turn, across = np.cos(done * step), np.sin(done * step)
        more = min(done, cosine.size - done)
        from_cosine, from_sine = cosine[:more], sine[:more]
        to_cosine, to_sine = cosine[done : done + more], sine[done : done + more]
        for k in range(more):
            to_cosine[k] = from_cosine[k] * turn - from_sine[k] * across
            to_sine[k] = from_sine[k] * turn + from_cosine[k] * across
        done += more


@compiled(error_model="numpy")
def _instantaneous(main: Reals, slope: Reals, rate: int, pitch: float, length: int, wave: Reals) -> float:
    """Return the pitch by the first two harmonics of ``pitch``, then by the first six of what they say."""
    bins, known = np.full(_FEW + _MANY, -1), np.empty((_FEW + _MANY, 2))
    found = 0
    for harmonics in (_FEW, _MANY):
        above, below = 0.0, 0.0
        for number in range(1, harmonics + 1):
            k = min(_rounded(pitch * length / rate * number), length // 2)
            place = 0
            while place < found and bins[place] != k:
                place += 1
            if place == found:
                power, turning = _bin(main, slope, k, length, wave)
                frequency = 0.0 if power == 0.0 else float(k) * rate / length + turning / power * rate / 2.0 / np.pi
                bins[place], known[place, 0], known[place, 1] = k, np.sqrt(power), frequency
                found += 1
            above += known[place, 0] * known[place, 1]
            below += known[place, 0] * number
        # 1e-12 as in WORLD: nothing may be divided by zero
        estimate = above / (below + 1e-12)
        if harmonics == _FEW and (estimate <= 0.0 or estimate > pitch * 2.0):
            return 0.0
        pitch = estimate
    return pitch


@compiled(error_model="numpy")
def _bin(main: Reals, slope: Reals, k: int, length: int, wave: Reals) -> tuple[float, float]:
    """Return the power of bin ``k`` of ``main``, and the part of its product with ``slope`` that turns the phase."""
    stride = wave.shape[1] // length
    mask = wave.shape[1] - 1
    cosine, sine = np.empty(_BLOCK), np.empty(_BLOCK)
    for i in range(_BLOCK):
        at = (k * i * stride) & mask
        cosine[i], sine[i] = wave[0, at], wave[1, at]
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for start in range(0, main.size, _BLOCK):
        x, y = main[start : start + _BLOCK], slope[start : start + _BLOCK]
        p, q, r, s = 0.0, 0.0, 0.0, 0.0
        for i in range(_BLOCK):
            p += x[i] * cosine[i]
            q += x[i] * sine[i]
            r += y[i] * cosine[i]
            s += y[i] * sine[i]
        at = (k * start * stride) & mask
        turn, across = wave[0, at], wave[1, at]
        a += p * turn - q * across
        b += q * turn + p * across
        c += r * turn - s * across
        d += s * turn + r * across
    # of the spectra a - ib and c - id
    return a * a + b * b, b * c - a * d
