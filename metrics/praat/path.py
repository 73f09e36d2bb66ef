"""The cheapest path through the candidates of all frames (Boersma 1993)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]


@compiled(error_model="numpy")
def _cost(before: float, after: float, jump: float, voicing: float) -> float:
    """Return what it costs to go from one pitch to the next; 0 stands for unvoiced."""
    if before > 0.0 and after > 0.0:
        # Boersma 1993: the cost of a jump is per octave
        return float(jump * abs(np.log2(before / after)))
    return voicing if before > 0.0 or after > 0.0 else 0.0


@compiled(error_model="numpy")
def cheapest_path(
    frequency: Reals, strength: Reals, count: Integers, unvoiced: Reals, ceiling: float, costs: Reals
) -> Reals:
    """Return the frequencies along the path of the greatest strength, less the costs (octave, jump, voicing)."""
    octave, jump, voicing = costs
    frames, most = frequency.shape
    chosen = np.zeros((frames, most), np.int64)
    score, before = np.zeros(most), np.zeros(most)
    for frame in range(frames):
        for k in range(count[frame]):
            pitch = frequency[frame, k]
            own = unvoiced[frame]
            if 0.0 < pitch < ceiling:
                # relative to the ceiling as in Praat's path finder; the constant changes no path
                own = strength[frame, k] - octave * np.log2(ceiling / pitch)
            else:
                frequency[frame, k] = pitch = 0.0
            best = 0.0 if frame == 0 else -np.inf
            for j in range(count[frame - 1] if frame > 0 else 0):
                value = before[j] - _cost(frequency[frame - 1, j], pitch, jump, voicing)
                if value > best:
                    best = value
                    chosen[frame, k] = j
            # Viterbi's algorithm: only the best way to each candidate is kept
            score[k] = best + own
        before[:] = score
    out = np.zeros(frames)
    place = int(np.argmax(before[: count[frames - 1]]))
    for frame in range(frames - 1, -1, -1):
        out[frame] = frequency[frame, place]
        place = chosen[frame, place]
    return out
