"""Noise beside a sound, at a ratio of powers: samples ``(samples,)`` in double precision."""

from __future__ import annotations

import numpy as np

from codec_superb.metrics.noise.random_numbers import Floats


class Inapplicable(Exception):
    """A condition has no meaning for a clip: it is silent, its rate is too low, or no voices are there."""


def power(samples: Floats) -> float:
    """Return the mean of the squares. Raises Inapplicable where it is 0."""
    found = float(np.mean(np.square(samples)))
    if found <= 0.0:
        raise Inapplicable("expected a clip that is not silent, got one of zeros alone: it has no level to refer to")
    return found


def mixed(samples: Floats, noise: Floats, snr: float) -> Floats:
    """Add ``noise`` at ``snr`` dB, the ratio of both powers over the whole clip."""
    gain = np.sqrt(power(samples) / power(noise) * 10 ** (-snr / 10))
    total: Floats = samples + gain * noise
    return total
