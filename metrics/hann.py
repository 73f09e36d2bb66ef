"""The Hann window of all spectra, in one formula: its last bits are part of each metric's definition."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def hann(length: int, period: int | None = None) -> NDArray[np.float64]:
    """Return samples 0 to ``length`` - 1 of ``sin²(πn/period)``, float64, shape ``(length,)``.

    ``period`` is ``length`` where it is not given: the periodic window of Fourier transforms. ``length - 1`` makes it
    end in a zero (the symmetric window).
    """
    # np.hanning and scipy.signal.get_window count n from the middle: up to 6e-16 away from this
    return 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(length) / (length if period is None else period))
