"""Where a metric's mean stands between its worst (0) and its best (1), so that one chart can hold all metrics.

Metrics of the overall score stand where that score puts them. The others have no place in a score; their scale is
chosen here for looking at, and said beside every chart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from codec_superb.metrics.overall import normalise

_DECIBEL_WORST, _DECIBEL_BEST = -10.0, 30.0


@dataclass(frozen=True, slots=True)
class Scale:
    """How one metric is mapped to [0, 1], 1 being better."""

    words: str
    """For people: what lies at 0 and at 1."""
    of: Callable[[float], float]


def _like(key: str) -> Callable[[float], float]:
    return lambda value: float(normalise(key, np.asarray(value, dtype=np.float64)))


def _decibels(value: float) -> float:
    return float(np.clip((value - _DECIBEL_WORST) / (_DECIBEL_BEST - _DECIBEL_WORST), 0.0, 1.0))


_DISTANCE = "as in the overall score: 1 / (1 + exp(−1 / d)), so 1 at no distance and 0.5 far away"
_PESQ = "as in the overall score: 0 at −0.5, 1 at 4.5"
_SHARE = "the value itself, a negative one as 0"
_LEVEL = "0 at −10 dB and below, 1 at 30 dB and above"

SCALES: dict[str, Scale] = {
    "stft": Scale(_DISTANCE, _like("stft")),
    "mel": Scale(_DISTANCE, _like("mel")),
    "pesq": Scale(_PESQ, _like("pesq")),
    "pesq_c2": Scale(_PESQ, _like("pesq")),
    "stoi": Scale(_SHARE, _like("stoi")),
    "estoi": Scale(_SHARE, _like("stoi")),
    "f0corr": Scale(_SHARE, _like("f0corr")),
    "f0corr_praat": Scale(_SHARE, _like("f0corr")),
    "si_sdr": Scale(_LEVEL, _decibels),
    "sdr": Scale(_LEVEL, _decibels),
}
"""One for every metric of the table; a test compares."""
