"""From the disturbance of frames to one number: frames lost to a jump of delay, weights over time, syllables, MOS."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled
from codec_superb.metrics.p862.alignment.delays import toward_zero
from codec_superb.metrics.p862.alignment.utterances import Utterances
from codec_superb.metrics.p862.tables import OPTIONS, SEARCH_WINDOWS, RateTables

Signal = NDArray[np.float32]

# P.862: a file begins and ends where five samples in a row sum to 500 in magnitude, at the level of ACTIVE_POWER
SILENCE_OF_5_SAMPLES = np.float32(500)
# 320 ms, a new one every 160 ms: frames are 16 ms apart
SYLLABLE = 20
"""Frames of a syllable; syllables overlap by half."""
# P.862: the disturbance of a frame is limited to 45
WORST = np.float32(45)
_SYLLABLE_POWER = 6
# from 16 s on; from 60 s on the first frame weighs half as much as the last
_LONG, _FADING, _MOST_FADING = 1000, np.float32(5500), 0.5
"""Frames from which on early disturbances weigh less."""
# P.862: score = 4.5 - 0.1 D - 0.0309 A of the symmetric disturbance D and the asymmetric one A
_DISTURBANCE_WEIGHT, _ADDED_WEIGHT = 0.1, 0.0309
# P.862.1 (nb) and P.862.2 (wb): MOS-LQO = 0.999 + 4 / (1 + exp(slope * score + offset))
_MAPPINGS = {"nb": (-1.4945, 4.6607), "wb": (-1.3669, 3.8224)}


@compiled(**OPTIONS)
def _quiet(signal: Signal, begin: int, direction: int, most: int) -> int:
    """Count samples from ``begin`` on before five in a row are loud enough."""
    skipped = 0
    while True:
        total = np.float32(0)
        for i in range(5):
            total += abs(signal[begin + direction * (skipped + i)])
        if total >= SILENCE_OF_5_SAMPLES:
            return skipped
        skipped += 1
        if skipped >= most:
            return skipped


def frame_range(reference: Signal, longest: int, rate: RateTables) -> tuple[int, int]:
    """First frame that counts, and the end of frames; ``longest`` is the signals' length without padding."""
    hop = rate.frame // 2
    before = _quiet(reference, rate.lead, 1, longest // 2)
    behind = _quiet(reference, longest - rate.lead + rate.padding - 1, -1, longest // 2)
    return before // hop, toward_zero(longest - 2 * rate.lead + rate.padding - behind, hop)


def zero_lost_frames(both: Signal, added: Signal, found: Utterances, rate: RateTables) -> None:
    """Set frames to no disturbance, in place, that a jump back of the delay takes out of the resynthesis."""
    hop, last = rate.frame // 2, len(both) - 1
    for i in range(1, len(found.start)):
        jump = int(found.delay[i] - found.delay[i - 1])
        if jump >= -hop:
            continue
        begins = (found.start[i] - SEARCH_WINDOWS) * rate.window
        ends = (found.stop[i - 1] - SEARCH_WINDOWS) * rate.window
        first = toward_zero(begins + found.delay[i], hop)
        first = max(min(first, toward_zero(ends + found.delay[i - 1], hop)), 0)
        stop = min(toward_zero(begins - jump, hop) + 2, last)
        both[first:stop] = added[first:stop] = 0


@compiled(**OPTIONS)
def _time_weights(frames: int, longest: int, rate: RateTables) -> Signal:
    weights = np.ones(frames, np.float32)
    if frames > _LONG:
        last = (longest - 2 * rate.lead) // (rate.frame // 2) - 1
        fading = min((np.float32(last) - np.float32(_LONG)) / np.float64(_FADING), _MOST_FADING)
        for frame in range(frames):
            weights[frame] = np.float32((1.0 - fading) + fading * np.float32(frame) / np.float32(last))
    return weights


@compiled(**OPTIONS)
def _over_time(disturbance: Signal, weights: Signal, start: int) -> np.float32:
    total, everything = 0.0, 0.0
    for begin in range(start, len(disturbance), SYLLABLE // 2):
        syllable = 0.0
        for frame in range(begin, min(begin + SYLLABLE, len(disturbance))):
            syllable += math.pow(np.float64(disturbance[frame]), _SYLLABLE_POWER)
        syllable = math.pow(syllable / SYLLABLE, 1 / _SYLLABLE_POWER)
        weight = np.float64(weights[begin - start])
        total += (weight * syllable) * (weight * syllable)
        everything += weight * weight
    return np.float32(math.sqrt(total / everything))


@compiled(**OPTIONS)
def raw_score(
    both: Signal, added: Signal, audible_power: Signal, start: int, longest: int, rate: RateTables
) -> np.float32:
    """Give the score of P.862, -0.5 to 4.5, from the disturbances of all frames (changed in place).

    ``audible_power`` is that of the reference's frames: soft frames count more.
    """
    # the 6-norm within a syllable (one bad frame spoils it) and the 2-norm over syllables follow in _over_time
    for frame in range(len(both)):
        # P.862: ((power + 10 ** 5) / 10 ** 7) ** 0.04
        loud = np.float32(math.pow((audible_power[frame] + 1e5) / 1e7, 0.04))
        both[frame] = min(both[frame] / loud, WORST)
        added[frame] = min(added[frame] / loud, WORST)
    weights = _time_weights(len(both), longest, rate)
    disturbed, disturbed_by_added = _over_time(both, weights, start), _over_time(added, weights, start)
    return np.float32(4.5 - _DISTURBANCE_WEIGHT * disturbed - _ADDED_WEIGHT * disturbed_by_added)


def listening_quality(raw: float, mode: str) -> float:
    """MOS-LQO of a raw score: P.862.1 for ``nb``, P.862.2 for ``wb``; 1.0 to 4.55 and 4.64."""
    slope, offset = (np.float32(value) for value in _MAPPINGS[mode])
    exponent = float(slope * np.float32(raw) + offset)
    # 0.999 to 4.999 in theory; a raw score of at most 4.5 gives 4.549 (nb) and 4.644 (wb)
    return float(np.float32(0.999) + np.float32(4) / (np.float32(1) + np.float32(math.exp(exponent))))
