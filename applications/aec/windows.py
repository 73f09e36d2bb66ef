"""Cut a clip into windows of the length that a model was trained on."""

from __future__ import annotations

import numpy as np

from codec_superb.applications.interface import Samples


def windows(samples: Samples, length: int) -> list[Samples]:
    """Return windows of ``length`` samples that cover the clip; a clip of at most that length is one window as it is.

    A longer clip has as few windows as cover it, evenly spaced, the last ending where the clip ends: none is filled
    with silence, which would count as much as sound in a mean over windows.
    """
    if samples.size <= length:
        return [samples]
    count = -(-samples.size // length)
    starts = np.rint(np.linspace(0, samples.size - length, count)).astype(int)
    return [samples[start : start + length] for start in starts]
