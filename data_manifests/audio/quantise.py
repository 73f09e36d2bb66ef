"""Quantise floating-point audio to the 24-bit integer samples that are stored."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codec_superb.data_manifests.audio.samples import Samples

_BITS = 24
_STEPS = 1 << (_BITS - 1)
"""Steps of a 24-bit sample between 0 and 1."""


def quantise_24_bits(audio: NDArray[np.floating], rate: int) -> Samples:
    """Return ``audio`` in [-1, 1], shape ``(channels, samples)``, with 24 bits.

    Values are rounded to the nearest step and clipped at full scale.
    """
    steps = np.clip(np.rint(audio.astype(np.float64) * _STEPS), -_STEPS, _STEPS - 1)
    # soundfile takes the upper bits of an int32.
    return Samples(np.ascontiguousarray(steps.T.astype(np.int32) << (32 - _BITS)), rate, _BITS)
