"""Turn floating-point audio into the integer samples that are stored."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codec_superb.data_manifests.audio.samples import Samples

_BITS = 24
_STEPS = 1 << (_BITS - 1)
"""Steps of a 24-bit sample between 0 and 1."""


def quantise_24_bits(audio: NDArray[np.floating], rate: int) -> Samples:
    """Return ``audio`` in [-1, 1], shape ``(channels, samples)``, with 24 bits.

    A value that 24 bits do not hold is rounded to the nearest that they hold; above full scale it is clipped.
    """
    steps = np.clip(np.rint(audio.astype(np.float64) * _STEPS), -_STEPS, _STEPS - 1)
    return Samples(np.ascontiguousarray(steps.T.astype(np.int32) << (32 - _BITS)), rate, _BITS)
