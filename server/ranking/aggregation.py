"""Ranks in cells (a dataset of a category, an application) joined into one order: mean rank and Borda's points.

Borda (1781): on each cell a codec gets a point for every codec that it beats and half a point for every equal one. Here
they are divided by the number of the others, so that the points are the share of the others that a codec beats. Where
all codecs have all cells, as here, points and mean ranks give one order: mean rank = n - points (n - 1).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from codec_superb.pipeline.statistics.jackknife import CONFIDENCE, Floats

Places = NDArray[np.int64]


def places(values: Floats, *, higher_is_better: bool = True) -> Floats:
    """Rank along the last axis, 1 being the best; equal values share the mean of their ranks. No value is NaN."""
    from scipy.stats import rankdata

    signed = -values if higher_is_better else values
    return np.asarray(rankdata(np.round(signed, 12), axis=-1), dtype=np.float64)


def borda(ranks: Floats) -> Floats:
    """Turn ranks, codecs along the last axis, into the share of the other codecs that each beats, 0 to 1."""
    count = ranks.shape[-1]
    return (count - ranks) / (count - 1) if count > 1 else np.ones_like(ranks)


def weighted(cells: Sequence[Floats], aspects: Sequence[str], weights: dict[str, float]) -> Floats:
    """Average ``cells`` (arrays of one shape): alike within the aspect that each belongs to, then by its weight."""
    total = sum(weights[aspect] for aspect in set(aspects))
    return np.asarray(
        sum(
            weights[aspect] / total / aspects.count(aspect) * cell
            for cell, aspect in zip(cells, aspects, strict=True)
        )
    )  # fmt: skip


def rank_ranges(points: Floats, draws: Floats) -> tuple[Places, Places, Places]:
    """Rank ``points`` of shape ``(codecs,)``, more being better, with 95 % ranges by ``draws``, ``(draws, codecs)``.

    Returns rank, best and worst; equal points share the best of their ranks.
    """
    from scipy.stats import rankdata

    rank = rankdata(np.round(-points, 12), method="min").astype(np.int64)
    drawn = np.round(-draws, 12)
    tail = (1 - CONFIDENCE) / 2
    # ranks are whole: no interpolation between two of them
    best = np.quantile(rankdata(drawn, method="min", axis=1), tail, axis=0, method="lower")
    worst = np.quantile(rankdata(drawn, method="max", axis=1), 1 - tail, axis=0, method="higher")
    return rank, np.minimum(best.astype(np.int64), rank), np.maximum(worst.astype(np.int64), rank)
