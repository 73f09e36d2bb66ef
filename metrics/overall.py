"""The overall score of the benchmark, recovered from its published tables (see ``docs/metrics.md``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.table import Category


def normalise(key: str, value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Map dataset means of metric ``key`` to [0, 1]; element-wise, so that bootstrap replicates go through at once."""
    raise NotImplementedError  # the metric branch


def dataset_score(means: Mapping[str, NDArray[np.float64]], category: Category) -> NDArray[np.float64]:
    """Harmonic mean of the normalised dataset means of the category's metrics.

    ``means`` maps metric key to mean (scalar or an array of replicates). KeyError-like MetricError when one of the
    category's metrics is missing: a score over fewer metrics is never given silently.
    """
    raise NotImplementedError


def category_score(scores: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Harmonic mean of dataset scores."""
    raise NotImplementedError
