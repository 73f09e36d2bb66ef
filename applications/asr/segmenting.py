"""Divides long sounds at quiet places, for models with an input of at most 30 s; no sample is lost."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.interface import Samples

LONGEST_S = 30.0
"""No part is longer; a sound up to this length stays whole."""
SHORTEST_S = 20.0
"""A part that is followed by another is no shorter."""
_FRAME_S = 0.01
_WINDOW = 20
"""Frames over which loudness is summed: 0.2 s, a short pause between words."""


def segments(
    samples: Samples, rate: int, *, shortest_s: float = SHORTEST_S, longest_s: float = LONGEST_S
) -> tuple[Samples, ...]:
    """Divide ``samples`` of shape ``(samples,)`` at ``rate`` Hz into parts that follow one another, as views.

    While more than ``longest_s`` seconds are left, the next part ends in the middle of the quietest 0.2 s that lie
    between ``shortest_s`` and ``longest_s``; of equally quiet places the last is taken. Joined, the parts are
    ``samples``; an empty sound has none.
    """
    ends = [0]
    while samples.size - ends[-1] > longest_s * rate:
        first, last = ends[-1] + int(shortest_s * rate), ends[-1] + int(longest_s * rate)
        ends.append(first + quietest(samples[first:last], rate))
    if samples.size:
        ends.append(samples.size)
    return tuple(samples[start:end] for start, end in pairwise(ends))


def quietest(samples: Samples, rate: int) -> int:
    """Return the sample in the middle of the quietest 0.2 s, in steps of 10 ms; the middle of what is shorter."""
    frame = max(1, int(_FRAME_S * rate))
    count = samples.size // frame
    if count < _WINDOW:
        return samples.size // 2
    frames: NDArray[np.float64] = samples[: count * frame].astype(np.float64).reshape(count, frame)
    energy = np.lib.stride_tricks.sliding_window_view(np.square(frames).sum(axis=1), _WINDOW).sum(axis=1)
    # Of equally quiet places the last: parts are as long as they can be.
    last: int = energy.size - 1 - int(np.argmin(energy[::-1]))
    return (last + _WINDOW // 2) * frame
