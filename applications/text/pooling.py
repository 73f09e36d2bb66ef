"""From the vectors of tokens to one vector of a text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

LONG_TEXT = "mean of the vectors of even parts"
"""What becomes of a text that is longer than its encoder takes; a setting of the result."""


def unit(vector: Array) -> Array:
    """Return the vector at length 1, a vector of zeros unchanged."""
    length = np.linalg.norm(vector)
    return vector if length == 0 else np.asarray(vector / length, np.float32)


def joined(parts: Sequence[Array], *, unit_length: bool) -> Array:
    """Return the mean of the vectors of a text's parts; of unit vectors at length 1, as those of short texts are."""
    vectors = [unit(part) for part in parts] if unit_length else parts
    if len(vectors) == 1:
        return vectors[0]
    mean = np.asarray(np.mean(vectors, axis=0, dtype=np.float64), np.float32)
    return unit(mean) if unit_length else mean
