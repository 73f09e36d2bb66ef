"""Bradley and Terry's model on paired clips: how likely one codec is to be better than another on a clip.

P(i better than j) = 1 / (1 + exp(b_j - b_i)) with an ability b a codec (Bradley and Terry, Biometrika 1952); a clip on
which two are equal is half a win for either. Fitted by the iterated spectral ranking of Maystre and Grossglauser (NIPS
2015), which ends at the maximum of the likelihood.
"""

from __future__ import annotations

import numpy as np

from codec_superb.pipeline.statistics.jackknife import Floats

PRIOR = 0.5
"""Wins that either codec of a pair gets beside those on clips: without them a codec that never loses has no bound."""
_CELLS = 1 << 21
"""Comparisons of one block of clips, which limits its memory to 8 MB."""
_STEPS = 10_000


def win_counts(values: Floats, weights: Floats) -> Floats:
    """Count on how many clips each codec beats each other one, shape ``(draws, codecs, codecs)``.

    ``values`` has shape ``(clips, codecs)``, more being better, NaN where a codec has none on a clip: it meets nobody
    there. ``weights`` has shape ``(draws, clips)``: how often a draw holds each clip, 1 for the clips themselves. A
    clip counts once a pair; equal values count half for either.
    """
    clips, codecs = values.shape
    # rounded: the scores of equal sounds tie although they are summed in another order
    found = np.round(values, 12)
    wins = np.zeros((len(weights), codecs * codecs))
    rows = max(1, _CELLS // (codecs * codecs))
    for start in range(0, clips, rows):
        part = found[start : start + rows]
        one, other = part[:, :, np.newaxis], part[:, np.newaxis, :]
        ahead = (one > other).astype(np.float32)
        ahead += np.float32(0.5) * (one == other)
        wins += weights[:, start : start + rows].astype(np.float32) @ ahead.reshape(len(part), -1)
    wins = wins.reshape(len(weights), codecs, codecs)
    wins[:, range(codecs), range(codecs)] = 0.0  # nobody meets itself
    return wins


def abilities(wins: Floats, *, prior: float = PRIOR, start: Floats | None = None, tolerance: float = 1e-9) -> Floats:
    """Fit the abilities to ``wins`` of shape ``(codecs, codecs)``, winners in rows; their mean is 0.

    ``prior`` is added to both sides of every pair that met. Every codec must be connected with every other one by
    pairs that met; with ``prior`` 0 also by wins in both directions. ``start`` are abilities to begin from.
    """
    import choix

    if len(wins) == 1:
        return np.zeros(1)
    met = (wins + wins.T) > 0
    found = choix.ilsr_pairwise_dense(wins + prior * met, initial_params=start, max_iter=_STEPS, tol=tolerance)
    return np.asarray(found - found.mean(), dtype=np.float64)
