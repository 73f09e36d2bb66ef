"""Give stretches that look badly aligned a second chance: search their delay again and keep the smaller disturbance."""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled
from codec_superb.metrics.p862.alignment.utterances import Utterances
from codec_superb.metrics.p862.arithmetic.exact_fft import correlation, next_power_of_two, twiddle_factors
from codec_superb.metrics.p862.disturbance import BAD_FRAME, disturbances
from codec_superb.metrics.p862.spectra import SpectrumWorkspace, band_powers
from codec_superb.metrics.p862.tables import OPTIONS, RateTables

Signal = NDArray[np.float32]

# 2, 5 and 4 are those of the reference software
SMEAR = 2
"""Frames: a good frame that near bad ones on both sides counts as bad."""
SHORTEST = 5
"""Frames of a stretch worth the search."""
# 128 ms: frames of 32 ms
SEARCH = 4
"""Frame lengths within which the delay is searched."""
_LEAST_CORRELATION = np.float32(0.5)
_LEAST_POWER = 1e-6


def bad_stretches(disturbance: Signal) -> list[tuple[int, int]]:
    """First and end frame of each stretch of disturbed frames."""
    frames = len(disturbance)
    bad = np.greater(disturbance, BAD_FRAME)
    if not bad.any():
        return []
    bad[0] = False
    around = np.asarray(sliding_window_view(np.pad(bad, SMEAR), SMEAR + 1).any(axis=1))
    smeared = around[:frames] & around[SMEAR:]
    smeared[:SMEAR] = smeared[max(frames - 1 - SMEAR, 0) :] = False
    edges = np.flatnonzero(np.diff(np.concatenate([[False], smeared, [False]])))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2) if b - a >= SHORTEST]


def aligned(signal: Signal, found: Utterances, rate: RateTables) -> Signal:
    """``signal`` with every utterance moved to its place in the reference."""
    first, end = rate.lead, len(signal) - rate.lead
    moved = np.zeros(len(signal), np.float32)
    edges = [first, *(min(max(int(start) * rate.window, first), end) for start in found.start[1:]), end]
    for begin, stop, delay in zip(edges, edges[1:], found.delay, strict=False):
        if begin < stop:
            moved[begin:stop] = _clamped(signal, begin + int(delay), stop + int(delay), first, end)
    return moved


def _clamped(signal: Signal, begin: int, stop: int, first: int, end: int) -> Signal:
    """``signal[begin:stop]`` with the samples outside ``first`` to ``end`` replaced by the nearest inside."""
    before, behind = min(max(first - begin, 0), stop - begin), min(max(stop - end, 0), stop - begin)
    inside = signal[min(max(begin, first), end) : max(min(stop, end), first)]
    return np.concatenate([np.repeat(signal[first], before), inside, np.repeat(signal[end - 1], behind)])


def _power(signal: Signal, size: int) -> float:
    squares = (signal * signal).astype(np.float64)
    return float(squares.sum()) / len(signal) * len(signal) / size


@compiled(**OPTIONS)
def _best(correlation: Signal, whole: float, reach: int) -> tuple[int, np.float32]:
    """Find the lag within ``reach`` that fits best, and how well."""
    best, delay = np.float32(0), 0
    scale = np.float32(1) / np.float32(len(correlation))
    for lag in range(-reach, reach):
        fit = np.float64(abs(correlation[lag] * scale)) / whole
        if fit > best:
            best, delay = np.float32(fit), lag
    return delay, best


def _search(first: Signal, second: Signal, reach: int) -> int:
    """Delay of ``second`` within ``reach`` samples from the correlation of magnitudes; 0 where they do not fit."""
    size = next_power_of_two(2 * len(first))
    power1, power2 = _power(first, size), _power(second, size)
    if power1 <= _LEAST_POWER or power2 <= _LEAST_POWER:
        return 0
    scaled = np.abs(first) * np.float32(1 / size)  # as good as scaling its spectrum: a power of two
    both = correlation(scaled, np.abs(second), -1.0, twiddle_factors(size), np.empty((6, size), np.float32))
    delay, fit = _best(both, math.sqrt(power1 * power2), reach)
    return int(delay) if fit >= _LEAST_CORRELATION else 0


def stretch_delay(reference: Signal, moved: Signal, span: tuple[int, int], rate: RateTables) -> int:
    """Search the delay of the samples of ``span``."""
    reach = SEARCH * rate.frame
    begin, end = span
    first = np.zeros(end - begin + 2 * reach, np.float32)
    first[reach : reach + end - begin] = reference[begin:end]
    around = _clamped(moved, begin - reach, end + reach, rate.lead, len(moved) - rate.lead)
    return _search(first, around, reach)


def realigned(moved: Signal, spans: list[tuple[int, int]], delays: list[int], longest: int) -> Signal:
    """Return ``moved`` with each span taken at its new delay; ``longest`` is the signals' length without padding."""
    again = moved.copy()
    for (begin, end), delay in zip(spans, delays, strict=True):
        again[begin:end] = _clamped(moved, begin + delay, end + delay, 0, longest)
    return again


def recompute_stretch(
    again: Signal,
    reference: NDArray[np.float32],
    stretch: tuple[int, int],
    rate: RateTables,
    at: SpectrumWorkspace,
    both: Signal,
    added: Signal,
) -> None:
    """Work out a stretch of frames anew and keep the smaller disturbances, in place."""
    frames = slice(*stretch)
    powers = np.empty((stretch[1] - stretch[0], reference.shape[1]), np.float32)
    band_powers(again, rate.lead + np.arange(*stretch) * (rate.frame // 2), rate, at, powers)
    new_both, new_added, _ = disturbances(reference[frames], powers, stretch[0], rate)
    both[frames] = np.minimum(both[frames], new_both)
    added[frames] = np.minimum(added[frames], new_added)
