"""The overall score of the benchmark: normalised metrics, harmonic mean over metrics, then over datasets.

The paper describes the score in words only: a bounded metric loses its minimum and is divided by its range, an
unbounded one goes through a sigmoid, and a harmonic mean joins them. What stands here was **recovered from the
published tables; it is not the authors' code**. ``docs/metrics.md`` shows the evidence, and the tests repeat it:
the five EnCodec bitrates come back within 0.007 (speech), 0.005 (audio) and 0.016 (music) of the published scores,
and the harmonic mean over datasets reproduces the published speech and audio columns to rounding.

Everything is element-wise, so that an array of values without each cluster passes through as a single number does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.errors import MetricError, MissingMetric
from codec_superb.metrics.table import METRICS, Category, Metric, overall_metrics

Scores = NDArray[np.float64]


def normalise(key: str, value: Scores) -> Scores:
    """Map dataset means of metric ``key`` to [0, 1], element-wise, as :func:`on_scale` does.

    Raises MetricError for a metric without a place in any overall score.
    Worked number: ``normalise("stft", 2.0)`` is 0.6225, ``normalise("pesq", 2.0)`` is 0.5.
    """
    row = METRICS.get(key)
    if row is None or not row.overall:
        raise MetricError(f"Metric {key!r} takes no part in the overall score; there is no way to normalise it.")
    return on_scale(row, value)


def on_scale(metric: Metric, value: Scores) -> Scores:
    """Map values of a metric to [0, 1], element-wise: ``metric.worst`` to 0 and ``metric.best`` to 1.

    A distance d without a largest value becomes ``1 / (1 + exp(-1 / d))``: 1 at d = 0, 0.5 far away. What lies beyond
    worst or best (PESQ of identical signals, a negative correlation) counts as that end. NaN stays NaN. Raises
    MetricError for a negative distance.
    """
    numbers = np.asarray(value, dtype=np.float64)
    if np.isinf(metric.worst):
        return _distance_to_score(numbers)
    return np.clip((numbers - metric.worst) / (metric.best - metric.worst), 0.0, 1.0)


def _distance_to_score(distance: Scores) -> Scores:
    if np.any(distance < 0):
        raise MetricError(f"A distance is never negative; got {float(np.min(distance))}.")
    with np.errstate(divide="ignore", over="ignore"):  # d = 0, or next to it: the score is 1
        return 1.0 / (1.0 + np.exp(-1.0 / np.abs(distance)))


def dataset_score(means: Mapping[str, Scores], category: Category) -> Scores:
    """Harmonic mean of the normalised dataset means of the category's metrics.

    ``means`` maps metric key to mean: a number, or an array of replicates of one shape. Metrics that take no part are
    ignored. Raises MissingMetric when one of the category's metrics is missing.
    """
    wanted = overall_metrics(category)
    missing = [key for key in wanted if key not in means]
    if missing:
        raise MissingMetric(
            f"The overall score of {category} needs {', '.join(wanted)}; {', '.join(missing)} missing: score them too."
        )
    return _harmonic_mean([normalise(key, means[key]) for key in wanted])


def category_score(scores: Sequence[Scores]) -> Scores:
    """Harmonic mean of dataset scores (numbers or arrays of replicates). Raises MetricError when there is none."""
    if not scores:
        raise MetricError("A category score needs at least one dataset score; got none.")
    return _harmonic_mean(scores)


def _harmonic_mean(scores: Sequence[Scores]) -> Scores:
    """Return n over the sum of reciprocals; 0 as soon as one score is 0."""
    stacked = np.stack([np.asarray(score, dtype=np.float64) for score in scores])
    with np.errstate(divide="ignore"):
        # 1 / 0 is inf, and n / inf is 0: the limit of the harmonic mean
        return np.asarray(len(scores) / np.sum(1.0 / stacked, axis=0), dtype=np.float64)
