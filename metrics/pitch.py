"""Agreement of melody and intonation: the correlation of fundamental frequency contours, in two variants.

Conventions: F0 is in Hz per frame, 0 where unvoiced; only voiced frames count. A contour is in cents relative to 440 Hz
minus its own median, so that neither key nor register matters. The contours of the pair, which differ in length, are
aligned by dynamic time warping, and Pearson's correlation is taken along the path. No voiced frame, or a pitch that
never moves, has no correlation: undefined, never 0.

- :func:`f0corr`: WORLD's DIO with StoneMask every 5 ms, FastDTW of radius 1. WORLD itself is not needed.
- :func:`f0corr_praat`: Praat's autocorrelation pitch every 256 samples at the clip's own rate, exact warping; the
  variant of the published tables, comparable with them. Praat itself (GPL) is not needed.

Metrics: :func:`f0corr`, :func:`f0corr_praat`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.errors import Undefined
from codec_superb.metrics.praat import tracker as praat
from codec_superb.metrics.signals import Audio, Signal, pair
from codec_superb.metrics.warping import ROUNDING, exact_correlation, fast_path
from codec_superb.metrics.world import tracker as world

F0_FLOOR, F0_CEILING = 50.0, 1100.0
"""Hz: from a low male voice to a soprano."""

_A4 = 440.0
_PUBLISHED = praat.PitchSettings(F0_FLOOR, F0_CEILING, voicing_threshold=0.6, step=256)
_SHORTEST_S = 3.0 / F0_FLOOR
"""Three periods of the lowest pitch."""


def f0corr(reference: Audio, resynthesis: Audio, rate: int) -> float:
    """Return the correlation of the pitch contours found by WORLD, in [-1, 1], higher is better.

    Arrays of shape ``(samples,)``, equal length, ``rate`` in Hz. Raises Undefined where either has no voiced frame or a
    constant pitch, is shorter than 60 ms, or is sampled too slowly for 1100 Hz; InvalidAudio for arrays that are not a
    pair.

    Worked number: singing and the same singing a semitone higher give 1.0.
    """
    first, second = pair(reference, resynthesis, rate)
    x = _contour(first, "reference", "world")
    y = _contour(second, "resynthesis", "world")
    # radius 1, the default of the package fastdtw
    _, path = fast_path(x, y)
    return _pearson(x[path[:, 0]], y[path[:, 1]])


def f0corr_praat(reference: Audio, resynthesis: Audio, rate: int) -> float:
    """Return the correlation of the pitch contours that Praat finds, in [-1, 1], higher is better.

    As :func:`f0corr`, and undefined in the same cases.
    """
    first, second = pair(reference, resynthesis, rate)
    x = _contour(first, "reference", "praat")
    y = _contour(second, "resynthesis", "praat")
    return _bounded(exact_correlation(x, y))


def _contour(signal: Signal, name: str, tracker: str) -> NDArray[np.float64]:
    """Return the voiced frames in cents around their median. Raises Undefined where there is no contour."""
    # Nyquist: a pitch of 1100 Hz needs more than 2200 Hz
    if signal.seconds < _SHORTEST_S or signal.rate <= 2 * F0_CEILING:
        raise Undefined(
            f"pitch from {F0_FLOOR:g} to {F0_CEILING:g} Hz needs {_SHORTEST_S} s above {2 * F0_CEILING:g} Hz; "
            f"the clip has {signal.seconds:.3f} s at {signal.rate} Hz"
        )
    if signal.silent:
        raise Undefined(f"the {name} is silent: nothing voiced")
    f0 = signal.derived(("f0", tracker), world_f0 if tracker == "world" else praat_f0)
    voiced = f0[f0 > 0.0]
    if voiced.size == 0:
        raise Undefined(f"nothing is voiced in the {name}")
    # Pearson's correlation divides by the standard deviation
    if voiced.min() == voiced.max():
        raise Undefined(f"the pitch of the {name} is constant")
    # 1200 cents are an octave; the 440 Hz fall out again with the median
    cents = 1200.0 * np.log2(voiced / _A4)
    return np.asarray(cents - np.median(cents), dtype=np.float64)


def world_f0(signal: Signal) -> NDArray[np.float64]:
    """Return F0 in Hz every 5 ms, 0 where unvoiced, by DIO (all of its defaults but the range) and StoneMask."""
    return world.track(signal.samples, signal.rate, F0_FLOOR, F0_CEILING)


def praat_f0(signal: Signal) -> NDArray[np.float64]:
    """Return F0 in Hz every 256 samples, 0 where unvoiced, as Praat's "To Pitch (ac)" with the published settings."""
    return praat.track(signal.samples, signal.rate, _PUBLISHED)


def _pearson(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    dx, dy = x - x.mean(), y - y.mean()
    var_x, var_y = float(np.sum(dx * dx)), float(np.sum(dy * dy))
    if var_x <= ROUNDING * float(np.sum(x * x)) or var_y <= ROUNDING * float(np.sum(y * y)):
        return _bounded(np.nan)
    return _bounded(float(np.sum(dx * dy)) / np.sqrt(var_x * var_y))


def _bounded(correlation: float) -> float:
    if np.isnan(correlation):
        raise Undefined("the pitch is constant along the aligned frames")
    # rounding may leave the range by an ulp
    return float(np.clip(correlation, -1.0, 1.0))
