"""F0 of a signal by DIO with StoneMask."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.world import bands, contour
from codec_superb.metrics.world.lanes import LANES
from codec_superb.metrics.world.stonemask import refined

Reals = NDArray[np.float64]

_BANDS_IN_OCTAVE = 2.0


def track(samples: Reals, rate: int, floor: float, ceiling: float) -> Reals:
    """Return F0 in Hz every 5 ms, 0 where unvoiced, for ``samples`` of shape ``(samples,)`` at ``rate`` Hz.

    The values are those of WORLD's Dio with its default settings but the range, refined by its StoneMask.
    """
    return refined(samples, rate, coarse(samples, rate, floor, ceiling))


def coarse(samples: Reals, rate: int, floor: float, ceiling: float) -> Reals:
    """Return F0 by DIO alone, as :func:`track`."""
    boundaries = _boundaries(floor, ceiling)
    filters = bands.bank(rate, boundaries)
    length = samples.size + 1
    reach = int(rate / bands.CUTOFF + 0.5)
    margin = max(2 * int(filters.halves[0]), reach) + 3
    step = min(bands.LONGEST, -(-length // LANES))
    room = 2 * margin + -(-length // (LANES * step)) * LANES * step
    signal = bands.low_cut(samples, rate, margin, room)
    times, counts = bands.crossings(signal, length, margin, filters)
    frames = int(1000.0 * samples.size / rate / contour.FRAME_MS) + 1
    return contour.contour(times, counts, rate, frames, floor, np.array([*boundaries, ceiling]))


@lru_cache(maxsize=8)
def _boundaries(floor: float, ceiling: float) -> tuple[float, ...]:
    count = 1 + int(math.log(ceiling / floor) / math.log(2.0) * _BANDS_IN_OCTAVE)
    return tuple(floor * 2.0 ** ((k + 1) / _BANDS_IN_OCTAVE) for k in range(count))
