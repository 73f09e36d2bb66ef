"""Cut both signals into utterances, each with one delay.

The reference's speech gives the utterances; each gets a coarse and a fine delay; then each is cut further for as
long as two parts with different delays are surer of theirs than the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.p862.alignment.delays import best_shift, coarse_delays, fine_delay, room_length, toward_zero
from codec_superb.metrics.p862.alignment.frames import Workspace
from codec_superb.metrics.p862.alignment.splitting import Cut, Signals, find_cut
from codec_superb.metrics.p862.tables import SEARCH_WINDOWS

# the standard's programme has room for 50 utterances and writes beyond its arrays when there are more (decision 4)
MOST = 50
"""Utterances beyond which none is cut any more."""
# 200 ms and 800 ms, in windows of 4 ms
SHORTEST = 50
"""Windows; shorter speech is no utterance."""
LONG = 200
"""Windows of speech from which on an utterance may be cut."""


class Utterances(NamedTuple):
    """Utterances in the order of time."""

    start: NDArray[np.int64]
    """First window of each."""
    stop: NDArray[np.int64]
    """End window of each."""
    delay: NDArray[np.int64]
    """Samples by which the second signal is late."""


@dataclass(slots=True)
class _Utterance:
    start: int
    stop: int
    coarse: int
    fine: int
    sure: np.float32


def _runs(signals: Signals, delay: int) -> list[tuple[int, int]]:
    """First and end window of each run of speech that is long enough and has a counterpart."""
    speech = np.concatenate([[False], signals.first_activity > 0, [False]])
    starts, stops = np.flatnonzero(speech[1:] & ~speech[:-1]), np.flatnonzero(~speech[1:] & speech[:-1])
    stops = np.minimum(stops, len(signals.first_activity) - 1)
    earliest = SHORTEST - toward_zero(delay, signals.window)
    latest = toward_zero(signals.second_end - delay, signals.window) - SHORTEST
    kept = (stops - starts >= SHORTEST) & (starts < latest) & (stops > earliest)
    return [(int(start), int(stop)) for start, stop in zip(starts[kept], stops[kept], strict=True)]


def _located(signals: Signals, at: Workspace) -> list[_Utterance]:
    """Every run of speech with its delay, searched in a neighbourhood of 300 ms."""
    s = signals
    nothing = np.empty(0, np.float32)
    room = np.empty((6, room_length(len(s.first_log), len(s.second_log))), np.float32)
    whole = s.window * int(best_shift(s.first_log, s.second_log, s.turns, nothing, room))
    runs = _runs(s, whole)
    last = len(s.first_activity) - 1
    starts = np.array([max(start - SEARCH_WINDOWS, 0) for start, _ in runs], np.int64)
    stops = np.array([min(stop + SEARCH_WINDOWS, last) for _, stop in runs], np.int64)
    coarse = coarse_delays(s.first_log, s.second_log, starts, stops, whole, s.window, s.turns, nothing)
    found = []
    for i, (start, stop) in enumerate(runs):
        begin, end = int(starts[i]) * s.window, int(stops[i]) * s.window
        fine, sure = fine_delay(s.first, s.second, begin, end, int(coarse[i]), s.second_end, at)
        found.append(_Utterance(start, stop, int(coarse[i]), int(fine), np.float32(sure)))
    return found


def _meet(found: list[_Utterance]) -> None:
    """Let neighbours meet half-way between."""
    for last, this in pairwise(found):
        this.start = last.stop = toward_zero(this.start + last.stop, 2)


def _earliest(delay: int, window: int) -> int:
    """First window whose counterpart is not before the second signal."""
    return SEARCH_WINDOWS + toward_zero(window - 1 - delay, window)


def _latest(delay: int, signals: Signals) -> int:
    """End window whose counterpart is not behind the second signal."""
    return toward_zero(signals.second_end - delay, signals.window) - SEARCH_WINDOWS


def _keep_inside(found: list[_Utterance], signals: Signals) -> None:
    """Keep the first and the last utterance inside the second signal at their delays."""
    window, first, last = signals.window, found[0], found[-1]
    if first.start * window + first.fine < SEARCH_WINDOWS * window:
        first.start = _earliest(first.fine, window)
    if last.stop * window + last.fine > signals.second_end - SEARCH_WINDOWS * window:
        last.stop = _latest(last.fine, signals)


def _part_overlaps(found: list[_Utterance], window: int) -> None:
    """No sample of the second signal belongs to two utterances."""
    for last, this in pairwise(found):
        begins, ends = this.start * window + this.fine, last.stop * window + last.fine
        if begins < ends:
            middle = toward_zero(begins + ends, 2)
            this.start = toward_zero(window - 1 + middle - this.fine, window)
            last.stop = toward_zero(middle - last.fine, window)


def _speech_inside(activity: NDArray[np.float32], utterance: _Utterance) -> tuple[int, int]:
    """First and end window of the speech of an utterance."""
    start, stop = utterance.start, utterance.stop
    speech = np.flatnonzero(activity[max(start, 0) : stop + 1] > 0) + max(start, 0)
    if not len(speech):
        return stop, start + 1
    return min(int(speech[0]), stop), max(int(speech[-1]), start) + 1


def _halves(whole: _Utterance, cut: Cut, signals: Signals) -> list[_Utterance]:
    """Both parts of a cut utterance; where the delay grows they overlap in the first signal."""
    window, (fine1, fine2) = signals.window, cut.fine
    overlap = 0 if fine2 < fine1 else (fine2 - fine1) // (2 * window)
    first = _Utterance(whole.start, cut.place + overlap, cut.coarse[0], fine1, cut.confidence[0])
    second = _Utterance(cut.place - overlap, whole.stop, cut.coarse[1], fine2, cut.confidence[1])
    if (first.start - SEARCH_WINDOWS) * window + fine1 < 0:
        first.start = _earliest(fine1, window)
    if second.stop * window + fine2 > signals.second_end - SEARCH_WINDOWS * window:
        second.stop = _latest(fine2, signals)
    return [first, second]


def _cut_all(found: list[_Utterance], signals: Signals, at: Workspace) -> None:
    """Cut utterances, and their parts, where both sides are surer of their delay than the whole."""
    i = 0
    while i < len(found) < MOST:
        whole, cut = found[i], None
        speech = _speech_inside(signals.first_activity, whole)
        if speech[1] - speech[0] >= LONG:
            cut = find_cut(signals, (whole.start, whole.stop), speech, whole.coarse, whole.sure, at)
        if cut is None:
            i += 1
        else:
            found[i : i + 1] = _halves(whole, cut, signals)


def _all(signals: Signals, at: Workspace) -> list[_Utterance]:
    found = _located(signals, at)
    if found:
        _meet(found)
        found[0].start = SEARCH_WINDOWS
        found[-1].stop = len(signals.first_activity) - SEARCH_WINDOWS
        _keep_inside(found, signals)
        _part_overlaps(found, signals.window)
        _cut_all(found, signals, at)
    return found


def utterances(signals: Signals, at: Workspace) -> Utterances:
    """All utterances of the first signal that have a counterpart in the second; there may be none."""
    at.plain[0] = at.doubts[0] = False
    found = _all(signals, at)
    if at.doubts[0]:  # somewhere a hair's breadth decided: do it again as the standard's programme rounds
        at.plain[0] = True
        found = _all(signals, at)
    start, stop, delay = (np.array([getattr(u, name) for u in found], np.int64) for name in ("start", "stop", "fine"))
    return Utterances(start, stop, delay)
