"""Try to cut an utterance in two where its delay changes.

Up to forty places are tried. The fine delay of what is before each place, from the utterance's start on, and of what
is behind it, from its end backwards, come from votes that are collected once: a place further on only adds frames.

The standard's programme keeps the window of the frames in memory into which the coarse correlations are written
before it is used: in utterances longer than about 3 s (8 kHz) or 6 s (16 kHz) their values replace the window. Scores
depend on it, so the same happens here, under the name of spill.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled
from codec_superb.metrics.p862.alignment.coarse import coarse_delays_of_parts
from codec_superb.metrics.p862.alignment.delays import frames_before, vote_of, winner
from codec_superb.metrics.p862.alignment.frames import NEAR, Workspace, correlate_frames
from codec_superb.metrics.p862.arithmetic.exact_fft import TwiddleFactors
from codec_superb.metrics.p862.arithmetic.rows import LANES
from codec_superb.metrics.p862.tables import OPTIONS

Signal = NDArray[np.float32]

_ZERO, _ONE = np.float32(0), np.float32(1)
_OPEN = np.float32(-2)
"""Confidence of a place not yet worked out."""
PLACES = 40
_SPAN = 0.801
"""Part of the speech over which the places are spread."""
# 300 ms, in windows of 4 ms
MARGIN = 75
"""Windows at either end of the speech that are not tried."""


class Signals(NamedTuple):
    """Both signals as time alignment sees them."""

    first: Signal
    second: Signal
    first_end: int
    second_end: int
    """Samples that belong to each signal: leading and trailing silence, but not the padding."""
    first_activity: Signal
    first_log: Signal
    second_log: Signal
    window: int
    turns: TwiddleFactors
    """For transforms that hold the activity of either signal twice."""


class Cut(NamedTuple):
    """Two parts of an utterance: coarse and fine delay in samples, confidence, and the window between them."""

    coarse: tuple[int, int]
    fine: tuple[int, int]
    confidence: tuple[np.float32, np.float32]
    place: int


def _candidates(speech: tuple[int, int], unit: int) -> NDArray[np.int64]:
    """Windows at which to try: evenly over the speech, a multiple of ``unit`` apart."""
    length = speech[1] - speech[0]
    step = int((_SPAN * length + PLACES * unit - 1) / (PLACES * unit)) * unit
    margin = max(length // 10, MARGIN)
    first = speech[0] + margin
    count = max(0, speech[1] - margin - first) // step + 1
    return first + step * np.arange(min(count, PLACES))


@compiled(**OPTIONS)
def _add_triangle(votes: Signal, place: int, vote: np.float32, kernel: int, start: int, stop: int) -> None:
    """Add numbers ``start`` to ``stop`` of the triangle around a lag, from ``votes[place]`` on."""
    to = np.uintp(place)  # an index with a sign is checked, number by number
    for i in range(np.uintp(stop - start)):
        away = abs(np.int64(i) + start + 1 - kernel)
        votes[to + i] += vote * (np.float32(kernel) - np.float32(away))


@compiled(**OPTIONS)
def _spread_votes(votes: Signal, lane: int, at: Workspace) -> np.float32:
    """Give one frame's votes, smoothed, to their lags; how much was given."""
    vote = vote_of(at.limits[lane]) / np.float32(at.kernel)
    given = vote * np.float32(at.kernel)
    for i in range(at.found[lane]):
        lag = at.lags[lane, i]
        first = (lag + 1 - at.kernel) % at.length
        split = min(2 * at.kernel - 1, at.length - first)
        _add_triangle(votes, first, vote, at.kernel, 0, split)
        _add_triangle(votes, 0, vote, at.kernel, split, 2 * at.kernel - 1)
    return given


@compiled(**OPTIONS)
def _frames(start: int, other: int, limit: int, end: int, direction: int, at: Workspace) -> int:
    """Frames between the edge of an utterance and a cut."""
    if direction > 0:
        return frames_before(start, other, limit, end, at)
    left = min(other, start - limit)
    return left // at.hop + 1 if left >= 0 else 0


@compiled(**OPTIONS)
def _first_frame(edge: int, estimate: int, end: int, direction: int, at: Workspace) -> tuple[int, int]:
    if direction > 0:
        return (-estimate, 0) if edge + estimate < 0 else (edge, edge + estimate)
    other = min(edge + estimate, end - at.length)
    return other - estimate, other


@compiled(**OPTIONS)
def votes_of_part(  # noqa: PLR0917 - compiled functions take no keywords quickly
    first: Signal,
    second: Signal,
    end: int,
    cuts: NDArray[np.int64],
    coarse: NDArray[np.int64],
    fine: NDArray[np.int64],
    sure: Signal,
    edge: int,
    direction: int,
    window: Signal,
    at: Workspace,
) -> None:
    """Fine delay and confidence of the part before (``direction`` 1) or behind (-1) every open cut, in place.

    ``edge`` is the sample where the utterance, or its last frame, begins; ``cuts`` are samples of ``first``, ``end``
    is where ``second`` ends. Cuts of the same ``coarse`` delay share their votes.
    """
    count = len(cuts)
    for lead in range(count):
        leader = lead if direction > 0 else count - 1 - lead
        if sure[leader] > _OPEN:
            continue
        estimate = coarse[leader]
        start, other = _first_frame(edge, estimate, end, direction, at)
        furthest = 0
        for i in range(count):
            if coarse[i] == estimate and sure[i] <= _OPEN:
                furthest = max(furthest, _frames(start, other, cuts[i], end, direction, at))
        votes, everything, done = np.zeros(at.length, np.float32), _ZERO, 0
        for follow in range(lead, count):
            i = follow if direction > 0 else count - 1 - follow
            if coarse[i] != estimate or sure[i] > _OPEN:
                continue
            wanted = _frames(start, other, cuts[i], end, direction, at)
            while done < wanted:
                if done % LANES == 0:
                    hop, ahead = direction * at.hop, min(LANES, furthest - done)
                    correlate_frames(first, second, start + done * hop, other + done * hop, hop, ahead, window, at)
                given = _spread_votes(votes, done % LANES, at)
                for _ in range(at.found[done % LANES]):
                    everything += given
                done += 1
            lag, best = winner(votes, at)
            fine[i] = estimate + lag
            sure[i] = best / everything if everything > _ZERO else _ZERO


@compiled(**OPTIONS)
def _best(
    fine: NDArray[np.int64],
    sure: NDArray[np.float32],
    confidence: np.float32,
    apart: int,
    at: Workspace,
) -> int:
    """Which cut has the surest parts, or -1 where none has: both surer than the whole, their delays ``apart`` or more.

    Raises a doubt where rounding may have decided.
    """
    near = _ZERO if at.plain[0] else NEAR * confidence
    best, loudest, rivals = -1, _ZERO, 0
    for i in range(fine.shape[1]):
        if abs(fine[1, i] - fine[0, i]) < apart:
            continue
        if abs(sure[0, i] - confidence) <= near or abs(sure[1, i] - confidence) <= near:
            at.doubts[0] = True
        together = sure[0, i] + sure[1, i]
        if sure[0, i] <= confidence or sure[1, i] <= confidence or together <= loudest * (_ONE - NEAR):
            continue
        rival = best >= 0 and together <= loudest * (_ONE + NEAR)
        rivals = rivals + 1 if rival else 0
        if together > loudest:
            best, loudest = i, together
    if rivals > 0:
        at.doubts[0] = True
    return best


@compiled(**OPTIONS)
def _tried(
    signals: Signals,
    bounds: tuple[int, int],
    cuts: NDArray[np.int64],
    estimate: int,
    confidence: np.float32,
    at: Workspace,
) -> tuple[int, NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Try all cuts: the best one or -1, and coarse and fine delays and confidences, of shape (2, cuts)."""
    s, (start, stop) = signals, bounds
    window = at.window.copy()
    coarse = coarse_delays_of_parts(s.first_log, s.second_log, bounds, cuts, estimate, s.window, s.turns, window)
    fine = np.zeros((2, len(cuts)), np.int64)
    sure = np.full((2, len(cuts)), _OPEN, np.float32)
    samples = cuts * s.window
    near = _ZERO if at.plain[0] else NEAR * confidence
    for side in range(2):
        edge, direction = (stop * s.window - at.length, -1) if side else (start * s.window, 1)
        votes_of_part(
            s.first, s.second, s.second_end, samples, coarse[side], fine[side], sure[side], edge, direction, window, at
        )
        if side == 0:
            for i in range(len(cuts)):
                if sure[0, i] <= confidence - near:
                    sure[1, i] = _ZERO
    return _best(fine, sure, confidence, s.window, at), coarse, fine, sure


def find_cut(
    signals: Signals,
    bounds: tuple[int, int],
    speech: tuple[int, int],
    estimate: int,
    confidence: np.float32,
    at: Workspace,
) -> Cut | None:
    """Find the best cut of an utterance, or None where there is none.

    ``bounds`` are the utterance's first window and its end, ``speech`` those of its speech; ``estimate`` is its
    coarse delay, ``confidence`` that of its fine one: both parts have to be surer.
    """
    cuts = _candidates(speech, at.length // (4 * signals.window))
    best, coarse, fine, sure = _tried(signals, bounds, cuts, estimate, confidence, at)
    if best < 0:
        return None
    delays = (int(coarse[0, best]), int(coarse[1, best])), (int(fine[0, best]), int(fine[1, best]))
    return Cut(*delays, (sure[0, best], sure[1, best]), int(cuts[best]))
