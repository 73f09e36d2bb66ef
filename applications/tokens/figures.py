"""Figures from counts of clips: shares of a total, rates a token, a second or a codebook's entries.

Each takes evidence of one side and weights of shape ``(draws, clips)``, and the name of a count; it returns
``(draws,)``, NaN where no clip has that count. On the reference's side a count is its own total: every token the same,
every token at its nominal bits.
"""

from __future__ import annotations

import numpy as np

from codec_superb.applications.metric_functions import Evidence, Floats


def percentage(evidence: Evidence, weights: Floats, name: str) -> Floats:
    """Return what there is of a total, in percent: all clips' counts over all clips' totals."""
    found, totals = _sums(evidence, weights, name)
    return 100.0 * _ratio(found, totals)


def mean(evidence: Evidence, weights: Floats, name: str) -> Floats:
    """Return a number's mean, each clip weighted by its total."""
    return _ratio(*_sums(evidence, weights, name))


def per_token(evidence: Evidence, weights: Floats, name: str) -> Floats:
    """Return a sum over all clips a token of theirs (the shared field ``tokens``)."""
    found, _ = _sums(evidence, weights, name)
    return _ratio(found, weights @ evidence.values["tokens"])


def perplexity(evidence: Evidence, weights: Floats, name: str) -> Floats:
    """Return 2 to the power of bits a token."""
    found: Floats = 2.0 ** per_token(evidence, weights, name)
    return found


def kbps(evidence: Evidence, weights: Floats, name: str) -> Floats:
    """Return bits of all clips a second of theirs (``seconds`` of their rows), in kbps."""
    found, _ = _sums(evidence, weights, name)
    return _ratio(found, 1000.0 * (weights @ evidence.values["seconds"]))


def _sums(evidence: Evidence, weights: Floats, name: str) -> tuple[Floats, Floats]:
    """Sum a count and its total over the clips; zeros where none has it."""
    if name not in evidence.names:
        nothing = np.full(len(weights), np.nan)
        return nothing, nothing
    chosen = evidence.right == evidence.names.index(name)
    each = weights[:, evidence.left[chosen]]
    return each @ evidence.scores[chosen], each @ evidence.totals[chosen]


def _ratio(above: Floats, below: Floats) -> Floats:
    ratio: Floats = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
    return ratio


def edit_rate(evidence: Evidence, weights: Floats, name: str) -> Floats:
    """Return edits in percent of a sequence's tokens; on the reference's side 0, as nothing was changed."""
    found, totals = _sums(evidence, weights, name)
    if evidence.scores is evidence.totals:
        found = np.zeros_like(found)
    return 100.0 * _ratio(found, totals)
