"""Fit audio that another program made to its reference: rate and length, within a bound; what was done is told.

Ordinary decoders give their own rate (opusdec 48 kHz, GSM 8 kHz) and whole frames. A delay stays: the lag is measured.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.base_codec import fitting
from codec_superb.pipeline.errors import RunFolderError

LONGEST_S = 0.25
"""Largest difference in length that is fitted, in seconds: two of Opus's longest packets, and more than delay and last
frame of MP3 (141 ms) and AAC (196 ms) at 16 kHz. It does not grow with the clip: coders pad by frames, whatever its
length, and what lacks more is not the same sound."""


class Fitted(NamedTuple):
    """What was done to a resynthesis before it was scored."""

    from_rate: int
    """Its own rate in Hz; resampled where the reference has another."""
    added_samples: int
    """Samples of silence that were added at its end, at the reference's rate; negative: cut there."""


def fit_to_reference(
    audio: NDArray[np.float32], rate: int, target: int, samples: int, *, longest_s: float = LONGEST_S
) -> tuple[NDArray[np.float32], Fitted | None]:
    """Return mono ``audio`` at ``target`` Hz with ``samples`` samples, and what was done; None where it fits as it is.

    Raises RunFolderError where it is longer or shorter by more than ``longest_s`` seconds.
    """
    length = fitting.resampled_length(audio.size, rate, target)
    added = samples - length
    if abs(added) > longest_s * target:
        raise RunFolderError(
            f"expected a resynthesis of {samples / target:.3f} s, give or take {longest_s:g} s, got "
            f"{length / target:.3f} s"
        )
    if rate == target and not added:
        return audio, None
    fitted = np.zeros(samples, dtype=np.float32)
    sound = fitting.resample(audio[np.newaxis], rate, target, length)[0, :samples]
    fitted[: sound.size] = sound
    return fitted, Fitted(rate, added)
