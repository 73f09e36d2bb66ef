"""Ranks in cells (a dataset of a category, an application) joined into one order: mean rank and Borda's points.

Borda (1781): on each cell a codec gets a point for every codec that it beats and half a point for every equal one. Here
they are divided by the number of the others, so that the points are the share of the others that a codec beats. Where
all codecs have all cells, as here, points and mean ranks give one order: mean rank = n - points (n - 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from codec_superb.pipeline.statistics.jackknife import CONFIDENCE, Floats

Places = NDArray[np.int64]


def places(values: Floats, votes: Floats | None = None, *, higher_is_better: bool = True) -> Floats:
    """Rank along the last axis, 1 being the best; equal values share the mean of their ranks. No value is NaN.

    ``votes``, shape ``(codecs,)``, is how much each codec counts as one that others beat, alike without it: the rank is
    that of a field of as many codecs with these shares, so that near copies of one codec move nobody.
    """
    from scipy.stats import rankdata

    signed = np.round(-values if higher_is_better else values, 12)
    count = signed.shape[-1]
    if votes is None or count == 1:
        return np.asarray(rankdata(signed, axis=-1), dtype=np.float64)
    order, place = np.argsort(signed, axis=-1), np.arange(count)
    ranked, summed = np.take_along_axis(signed, order, -1), np.cumsum(votes[order], axis=-1)
    ends = np.ones(signed.shape, np.bool_)  # of equal ones the last
    ends[..., :-1] = ranked[..., 1:] != ranked[..., :-1]
    begins = np.roll(ends, 1, axis=-1)
    first = np.maximum.accumulate(np.where(begins, place, 0), axis=-1)
    last = np.minimum.accumulate(np.where(ends, place, count - 1)[..., ::-1], axis=-1)[..., ::-1]
    upto = np.take_along_axis(summed, last, -1)
    ahead = np.where(first > 0, np.take_along_axis(summed, np.maximum(first - 1, 0), -1), 0.0)
    own = (upto - ahead) / (last - first + 1)  # the mean of equal ones, so that they stay equal
    found = np.empty(signed.shape)
    np.put_along_axis(found, order, 1 + (count - 1) * (ahead + (upto - ahead - own) / 2) / (votes.sum() - own), -1)
    return found


def exact_shares(values: Floats, votes: Sequence[Fraction], *, higher_is_better: bool = True) -> list[Fraction]:
    """Return the share of the others that each codec of shape ``(codecs,)`` beats, as :func:`borda`, in fractions."""
    signed = np.round(values if higher_is_better else -values, 12).tolist()
    unit = math.lcm(*(vote.denominator for vote in votes))
    counts = [int(vote * unit) for vote in votes]  # whole numbers: sums of fractions take four times as long
    total, behind = sum(counts), 0
    found = [Fraction(1)] * len(signed)
    for _, equal in groupby(sorted(range(len(signed)), key=signed.__getitem__), key=signed.__getitem__):
        together = list(equal)
        size, theirs = len(together), sum(counts[place] for place in together)
        others = size * total - theirs  # times the size, as is what they beat: the own vote is the mean of equal ones
        share = Fraction(2 * size * behind + (size - 1) * theirs, 2 * others) if others else Fraction(1)
        for place in together:
            found[place] = share
        behind += theirs
    return found


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
