"""DATE of MECAT (arXiv:2507.23511) as pure functions of similarities and of word pieces' embeddings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DELTAS = {
    "long": 0.1703, "short": 0.1772, "speech": 0.2078, "music": 0.1566, "sound": 0.1988, "environment": 0.2150,
}  # fmt: skip
"""Width of the band of similarities that count as equal, by domain."""
_EPSILON = 1e-8
_LEAST_LENGTH = 1e-12


def discrimination(similarity: Floats, delta: float) -> Floats:
    """Return of each row how few others are as similar as its own place on the diagonal, ``(clips,)``, at most 1 − 1/N.

    ``similarity`` is ``(answers, clips)``: D_i = 1 − (others above s_i + δ/2, and all within δ/2, itself too) / N.
    """
    own = np.diagonal(similarity)[:, None]
    above = (similarity > own + delta / 2).sum(axis=1)
    within = (np.abs(similarity - own) <= delta / 2).sum(axis=1)
    found: Floats = 1.0 - (above + within) / len(similarity)
    return found


def harmonic(similarity: Floats, delta: float) -> Floats:
    """Return of each answer the harmonic mean of its similarity and its discrimination; DATE is their mean."""
    own, apart = np.diagonal(similarity), discrimination(similarity, delta)
    found: Floats = 2 * own * apart / (own + apart + _EPSILON)
    return found


def term_frequencies(embedded: Floats) -> Floats:
    """Return of each word piece ``(pieces, dimensions)`` the sum of its squared cosines with all of its text."""
    found: Floats = np.square(_units(embedded) @ _units(embedded).T).sum(axis=1)
    return found


def idf(texts: Sequence[Floats]) -> list[Floats]:
    """Return how rare each piece of each text is: ln((n + 1) / (df + 1)) + 1, df over all texts of the side.

    A text counts for a piece with the sum of squared cosines between the piece and its own, 1 at most.
    """
    units = [_units(each) for each in texts]
    found = []
    for own in units:
        df = sum(np.minimum(1.0, np.square(own @ other.T).sum(axis=1)) for other in units)
        found.append(np.log((len(texts) + 1) / (df + 1)) + 1)
    return found


def _units(vectors: Floats) -> Floats:
    found: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), _LEAST_LENGTH)
    return found
