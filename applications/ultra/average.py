"""The average of UltraEval-Audio's codec table: nine numbers of 0 to 100, three on each of three datasets.

On each dataset: semantics is 100 minus the error rate of a recogniser in percent, timbre the cosine of speaker
embeddings times 100, acoustics the mean of those opinion scores that there are (UTMOS, DNSMOS P.835 overall, DNSMOS
P.808), each times 20. The average is the plain mean of the nine. It reproduces all nine published rows to rounding;
an error rate above 100 % is not cut off.

Every value may be a number, or an array of shape ``(draws,)``: a bootstrap is one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Value = float | Floats

DATASETS = 3
OPINION_SCALE = 20.0
"""From opinions of at most 5 to numbers of at most 100."""


@dataclass(frozen=True, slots=True)
class DatasetMetrics:
    """What is measured on one dataset."""

    error_rate_pct: Value
    """Word error rate, for Chinese character error rate, in percent."""
    similarity_pct: Value
    """Cosine between the speaker embeddings of reference and resynthesis, times 100."""
    utmos: Value | None = None
    """None for Chinese, where the protocol has no UTMOS."""
    dnsmos_ovrl: Value | None = None
    dnsmos_p808: Value | None = None


def semantics(figures: DatasetMetrics) -> Floats:
    """Return 100 minus the error rate; below 0 where there are more errors than words."""
    return np.asarray(100.0 - np.asarray(figures.error_rate_pct, np.float64))


def timbre(figures: DatasetMetrics) -> Floats:
    """Return the speaker similarity in percent."""
    return np.asarray(figures.similarity_pct, np.float64)


def acoustics(figures: DatasetMetrics) -> Floats:
    """Return the mean of the opinion scores that there are, times 20. Raises ValueError when there is none."""
    opinions = [value for value in (figures.utmos, figures.dnsmos_ovrl, figures.dnsmos_p808) if value is not None]
    if not opinions:
        raise ValueError("acoustics needs one opinion score at least: UTMOS, DNSMOS P.835 or DNSMOS P.808; got none")
    return np.asarray(OPINION_SCALE * sum(np.asarray(value, np.float64) for value in opinions) / len(opinions))


def average(datasets: Sequence[DatasetMetrics]) -> Floats:
    """Return the mean of the nine, a number or shape ``(draws,)``; NaN where one of them is.

    Raises ValueError for any other number of datasets than three, and for a dataset without an opinion score.

    Worked number: error rates of 5 %, similarities of 80 and opinions of 3 everywhere give (95 + 80 + 60) / 3 = 78.33.
    """
    if len(datasets) != DATASETS:
        raise ValueError(f"the average is over {DATASETS} datasets, got {len(datasets)}")
    parts = [part(figures) for figures in datasets for part in (semantics, timbre, acoustics)]
    return np.asarray(sum(parts[1:], start=parts[0]) / len(parts))
