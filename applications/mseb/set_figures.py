"""Figures of the frames of all clips together: Fréchet and kernel audio distance, with weights for their intervals.

Each takes :class:`Evidence` of one side and weights of shape ``(draws, clips)`` and returns ``(draws,)``; NaN where a
draw holds fewer than two frames. A draw that holds every clip once has the exact figure of
:mod:`codec_superb.applications.mseb.distances`; the reference's own side has 0.

Other draws of FAD are its first-order expansion about all clips (the infinitesimal jackknife), which is exact in the
limit of small changes of weight and costs one decomposition for any number of draws; of 4,096 frames of 1,024 numbers
one takes seconds. Its bias by the number of frames is the same in all draws. Draws of KAD are exact: it is a sum over
pairs of frames, which is summed once for each pair of clips. The bandwidth is that of all clips in every draw.

Source: Efron, The Jackknife, the Bootstrap and Other Resampling Plans, SIAM 1982, chapter 6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.metric_functions import Evidence, Floats, PairedFrames
from codec_superb.applications.mseb.distances import KAD_SCALE, LEAST_FRAMES, centred, median_distance, similarities


def fad(evidence: Evidence, weights: Floats) -> Floats:
    """Fréchet distance between the frames of this side and of the reference."""
    frames = evidence.frames
    counts = _by_clip(frames, np.ones(len(frames.clips)), weights)
    held = weights @ counts
    value, slopes = frames.once(_fad)
    moved = value + np.divide(
        weights @ _by_clip(frames, slopes, weights), held, out=np.zeros_like(held), where=held > 0
    )
    return _where_enough(held, np.maximum(moved, 0.0))


def kad(evidence: Evidence, weights: Floats) -> Floats:
    """Kernel distance times 100: bandwidth of the reference, pairs of one moment left out, not clamped."""
    frames = evidence.frames
    drawn, counts = _drawn(frames, weights)
    alike = frames.once(_kad)
    pairs = _pairs_apart(drawn, counts)
    return _where_enough(drawn @ counts, KAD_SCALE * _ratio(_quadratic(drawn, alike), pairs))


def kad_compat(evidence: Evidence, weights: Floats) -> Floats:
    """Kernel distance as the toolkit and MSEB have it: bandwidth of the resynthesis, all pairs across, at least 0."""
    frames = evidence.frames
    drawn, counts = _drawn(frames, weights)
    within, across = frames.once(_kad_compat)
    held = drawn @ counts
    found = _ratio(_quadratic(drawn, within), _pairs_apart(drawn, counts)) - 2.0 * _ratio(
        _quadratic(drawn, across), held**2
    )
    return _where_enough(held, np.maximum(KAD_SCALE * found, 0.0))


_LEAST_PART = 1e-6
"""Of both variances together: what is less is shown as 0, since the difference of such sums is uncertain by 1e-12 of
them, and every machine must find the same within a millionth of the figure."""


class _Expansion(NamedTuple):
    """A figure of all frames, and by how much a frame more of each kind moves it, over the number of frames."""

    value: float
    slopes: Floats
    """Shape ``(frames,)``; their sum is 0."""


def _fad(frames: PairedFrames) -> _Expansion:
    count = len(frames.clips)
    nothing = np.zeros(count)
    if count < LEAST_FRAMES:
        return _Expansion(float("nan"), nothing)
    if np.array_equal(frames.reference, frames.side):
        return _Expansion(0.0, nothing)
    apart = frames.reference.mean(axis=0) - frames.side.mean(axis=0)
    one, two = centred(frames.reference), centred(frames.side)
    total, left, right = _shared_spread(one, two)
    # squares of each frame, whose sum is the trace of a covariance
    squares = (one**2).sum(axis=1) + (two**2).sum(axis=1)
    spread = squares - (left + right)  # 2 tr (S1 S2)^½ falls half to either side
    towards = 2.0 * np.sqrt(count - 1) * ((one - two) @ apart)  # of the distance of the means
    value = float(apart @ apart + squares.sum() - 2.0 * total)
    if value < _LEAST_PART * squares.sum():
        return _Expansion(0.0, nothing)
    return _Expansion(value, towards + count * spread - spread.sum())


def _shared_spread(one: Floats, two: Floats) -> tuple[float, Floats, Floats]:
    """Return the sum of the singular values of ``A Bᵀ``, and the diagonals of its two absolute values.

    A frame weighs with half the sum of its diagonals: they are the gradient of the sum.
    """
    bases, cores = [], []
    for part in (one, two):
        base, core = np.linalg.qr(part) if len(part) > part.shape[1] else (None, part)
        bases.append(base)
        cores.append(core)
    left, values, right = np.linalg.svd(cores[0] @ cores[1].T)
    sides = []
    for base, vectors in zip(bases, (left, right.T), strict=True):
        whole = vectors if base is None else base @ vectors
        sides.append((whole**2) @ values)
    return float(values.sum()), sides[0], sides[1]


def _kad(frames: PairedFrames) -> Floats:
    """Sum, for each pair of clips, what their frames add to the distance: alike on a side less alike across."""
    clips = len(_starts(frames))
    if len(frames.clips) < LEAST_FRAMES or np.array_equal(frames.reference, frames.side):
        return np.zeros((clips, clips))
    one, two, width = frames.reference, frames.side, median_distance(frames.reference)
    across = similarities(one, two, width)
    table = -across
    table -= across.T
    del across
    table += similarities(one, one, width)
    table += similarities(two, two, width)
    np.fill_diagonal(table, 0.0)
    return _between_clips(frames, table)


def _kad_compat(frames: PairedFrames) -> tuple[Floats, Floats]:
    """Sum the products of the frames of each pair of clips: within the sides, and across."""
    if len(frames.clips) < LEAST_FRAMES:
        clips = len(_starts(frames))
        return np.zeros((clips, clips)), np.zeros((clips, clips))
    one, two, width = frames.reference, frames.side, median_distance(frames.side)
    across = _between_clips(frames, similarities(one, two, width))
    table = similarities(one, one, width)
    table += similarities(two, two, width)
    np.fill_diagonal(table, 0.0)
    return _between_clips(frames, table), across


def _starts(frames: PairedFrames) -> NDArray[np.int64]:
    """First frames of the clips that have some."""
    return np.flatnonzero(np.diff(frames.clips, prepend=-1))


def _between_clips(frames: PairedFrames, table: Floats) -> Floats:
    starts = _starts(frames)
    return np.asarray(np.add.reduceat(np.add.reduceat(table, starts, axis=0), starts, axis=1))


def _drawn(frames: PairedFrames, weights: Floats) -> tuple[Floats, Floats]:
    """Return the weights of the clips that have frames, and how many each has."""
    present, counts = np.unique(frames.clips, return_counts=True)
    return weights[:, present], counts.astype(np.float64)


def _by_clip(frames: PairedFrames, values: Floats, weights: Floats) -> Floats:
    return np.asarray(np.bincount(frames.clips, values, minlength=weights.shape[1]), np.float64)


def _quadratic(drawn: Floats, table: Floats) -> Floats:
    return np.asarray(((drawn @ table) * drawn).sum(axis=1))


def _pairs_apart(drawn: Floats, counts: Floats) -> Floats:
    """How many pairs of different frames each draw holds."""
    return np.asarray((drawn @ counts) ** 2 - (drawn**2) @ counts)


def _ratio(above: Floats, below: Floats) -> Floats:
    ratio: Floats = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
    return ratio


def _where_enough(held: Floats, found: Floats) -> Floats:
    return np.where(held >= LEAST_FRAMES, found, np.nan)
