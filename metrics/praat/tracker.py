"""Fundamental frequency by autocorrelation with a path finder (Boersma 1993), with the settings and results of Praat.

The method, in the paper's words: the autocorrelation of a windowed frame is divided by that of the window; its maxima,
interpolated with windowed sines, are candidates for the period; and the cheapest path through the candidates of all
frames, one of which is always "unvoiced", is the pitch. The method is the paper's, settings are those of Praat's
manual, and constants that neither gives (depths of interpolation, number of candidates) are set to the values with
which Praat's results come back. The code is this project's own; the tests hold it against Praat (extra ``praat``).
Conventions: F0 in Hz per frame, 0 where unvoiced; frames are centred in the clip.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled
from codec_superb.metrics.hann import hann
from codec_superb.metrics.p862.arithmetic.rows import WIDE_LANES as LANES
from codec_superb.metrics.praat import candidates, correlation
from codec_superb.metrics.praat.path import cheapest_path

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]

# Praat's defaults ("To Pitch (ac)"): three periods, silence 0.03, octave 0.01, jump 0.35, voicing 0.14, 15 candidates
_PERIODS = 3.0
"""Periods of the lowest pitch in a window."""
_SILENCE = 0.03
_OCTAVE_COST = 0.01
_JUMP_COST = 0.35
_VOICING_COST = 0.14
_COST_STEP_S = 0.01
"""Time step for which the costs of jumps are given."""
_CANDIDATES = 15
_SHORTEST_TRANSFORM = 64


@dataclass(frozen=True, slots=True)
class PitchSettings:
    """How often and within which range pitch is searched."""

    floor: float
    """Hz."""
    ceiling: float
    """Hz."""
    voicing_threshold: float
    step: int
    """Samples between frames."""


@dataclass(frozen=True, slots=True)
class _Window:
    """A Hann window over three periods of the lowest pitch, at one sampling rate."""

    taper: Reals
    """Shape ``(samples,)``, even."""
    filled: Reals
    """The same, with zeros up to a multiple of eight."""
    unwindow: Reals
    """One over the autocorrelation of the taper, 1 at lag 0, zeros beyond the lags that are looked at, in eights."""
    period: int
    """Samples of the longest period."""
    longest: int
    """Lag before which the search for maxima ends."""
    transform: int
    """Length of the Fourier transform: the window and its longest lag fit."""
    fine: candidates.Interpolation
    coarse: candidates.Interpolation


class _Frames(NamedTuple):
    """Frames of a signal, and the window they are seen through."""

    samples: Reals
    """As long as every frame of whole eights."""
    first: Integers
    """First sample of each frame."""
    means: Reals
    """Local mean of each frame."""
    loud: Integers
    """The frames that may be voiced."""
    taper: Reals
    unwindow: Reals


def track(samples: Reals, rate: int, analysis: PitchSettings) -> Reals:
    """Return F0 in Hz per frame, 0 where unvoiced, for ``samples`` of shape ``(samples,)`` at ``rate`` Hz.

    Returns an empty array when the clip is shorter than a window of three periods of the floor.
    """
    window = _window(rate, analysis.floor, analysis.ceiling)
    left = _frame_positions(samples.size, rate, analysis)
    # Praat: intensity is relative to the global peak, without the offset
    mean = samples.mean()
    peak = float(max(samples.max() - mean, mean - samples.min()))
    if left.size == 0 or peak == 0.0:
        return np.zeros(left.size)
    costs = np.array([_OCTAVE_COST, _JUMP_COST, _VOICING_COST])
    # Boersma 1993: costs of transitions are for steps of 10 ms, so that a finer step does not forbid jumps
    costs[1:] *= _COST_STEP_S * rate / analysis.step
    means, levels = correlation.levels(samples, left, window.taper, window.period)
    unvoiced = _unvoiced_strength(np.minimum(levels / peak, 1.0), analysis.voicing_threshold)
    # No candidate is stronger than 1: where "unvoiced" beats that by two changes of voicing, nothing else can win.
    loud = np.flatnonzero(unvoiced <= 1.0 + 2.0 * costs[2])
    # as in Praat: a periodic sound has a maximum at every multiple of its period
    most = max(_CANDIDATES, int(analysis.ceiling / analysis.floor))
    found = candidates.Found(
        np.zeros((left.size, most)), np.zeros((left.size, most)), np.ones(left.size, dtype=np.int64)
    )
    search = candidates.Search(
        float(rate),
        # Praat's candidates begin at half of the voicing threshold
        0.5 * analysis.voicing_threshold,
        window.longest,
        analysis.floor,
        analysis.ceiling,
        _OCTAVE_COST,
    )
    at = correlation.workspace(window.transform)
    first = left + 1 - window.taper.size // 2
    # frames are read in eights of samples, the last one a little beyond its end
    if first[-1] + window.filled.size > samples.size:
        samples = np.concatenate([samples, np.zeros(LANES)])
    frames = _Frames(samples, first, means, loud, window.filled, window.unwindow)
    _find(frames, at, search, window.fine, window.coarse, found)
    return cheapest_path(found.frequency, found.strength, found.number, unvoiced, analysis.ceiling, costs)


@compiled(error_model="numpy")
def _find(
    of: _Frames,
    at: correlation.Workspace,
    search: candidates.Search,
    fine: candidates.Interpolation,
    coarse: candidates.Interpolation,
    found: candidates.Found,
) -> None:
    """Find the candidates of the loud frames, eight by eight."""
    centre = max(fine.reach, coarse.reach)
    rows = np.empty((LANES, 2 * centre + of.unwindow.size))
    for start in range(0, of.loud.size, LANES):
        some = of.loud[start : start + LANES]
        for lane in range(LANES):
            # the last eight are filled up with the last frame
            frame = some[min(lane, some.size - 1)]
            at.there.starts[lane], at.there.means[lane] = of.first[frame], of.means[frame]
        correlation.correlate(of.samples, of.taper, of.unwindow, at, centre, rows)
        candidates.find_candidates(rows, centre, some, search, fine, coarse, found)


def _unvoiced_strength(intensity: Reals, threshold: float) -> Reals:
    # Boersma 1993: strength of the unvoiced candidate, from the frame's peak over the clip's
    return np.asarray(threshold + np.maximum(0.0, 2.0 - intensity * (1.0 + threshold) / _SILENCE))


def _frame_positions(samples: int, rate: int, analysis: PitchSettings) -> Integers:
    """Return for each frame the index of the last sample before its centre."""
    dx, step, width = 1.0 / rate, analysis.step / rate, _PERIODS / analysis.floor
    duration = dx * samples
    frames = math.floor((duration - width) / step) + 1
    if duration < width:
        return np.zeros(0, dtype=np.int64)
    # Praat centres its frames in the sound
    first = 0.5 * duration - 0.5 * frames * step + 0.5 * step
    centres = first + np.arange(frames) * step
    return np.asarray(np.floor((centres - 0.5 * dx) / dx), dtype=np.int64)


@lru_cache(maxsize=8)
def _window(rate: int, floor: float, ceiling: float) -> _Window:
    from scipy.fft import irfft, next_fast_len, rfft

    # even, so that the centre lies between two samples; rounded as Praat rounds it
    size = 2 * (int(_PERIODS / floor * rate) // 2 - 1)
    longest = min(int(size / _PERIODS) + 2, size // 2)
    lags = min(longest + candidates.MARGIN, size // 2) + 1
    taper = hann(size + 1)[1:]
    # zeros for the longest lag: a circular correlation may wrap around beyond it only
    enough = size + lags
    long = next_fast_len(enough, real=True)
    of_taper = irfft(np.abs(rfft(taper, n=long)) ** 2, n=long)[:lags]
    fine, coarse = candidates.interpolations(lags, longest, rate / ceiling)
    return _Window(
        taper=taper,
        filled=np.pad(taper, (0, -size % LANES)),
        unwindow=np.pad(of_taper[0] / of_taper, (0, -lags % LANES)),
        period=int(rate / floor),
        longest=longest,
        transform=max(_SHORTEST_TRANSFORM, 1 << (enough - 1).bit_length()),
        fine=fine,
        coarse=coarse,
    )
