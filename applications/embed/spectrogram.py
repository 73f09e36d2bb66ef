"""Power spectrogram as frames: no model, so that a distance of frames can be computed without one.

Frames of 1,024 samples every 320 under a Hann window, squared magnitudes of samples in [-1, 1] without a factor: MSEB's
reconstruction task, whose sampling rate and window are not stated and whose figures have this order of magnitude. The
distance of such frames grows with the fourth power of the gain and says little about hearing.

A few frames of each clip stand for it, the same on both sides: all of them would be 100 kB for each second.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from codec_superb.applications.interface import Backend, Model, Prediction, Samples, Setting, Sound
from codec_superb.applications.mseb.frame_sample import SEED, positions
from codec_superb.applications.one_by_one import one_by_one

NAME = "spectrogram"
RATE = 16_000
WINDOW, HOP = 1024, 320
FRAMES_PER_CLIP = 64
SETTINGS: dict[str, Setting] = {
    "rate_hz": RATE,
    "window_ms": 1000.0 * WINDOW / RATE,
    "step_ms": 1000.0 * HOP / RATE,
    "window": "Hann, periodic",
    "spectrum": "squared magnitudes",
    "frames_per_clip_most": FRAMES_PER_CLIP,
    "frames_seed": SEED,
}


class Spectrogram(Backend):
    """Power spectra of 513 bins of 15.6 Hz, float32, of frames that the clip's id chooses."""

    rate: ClassVar[int] = RATE
    one_copy_per_worker: ClassVar[bool] = True

    def prepare(self) -> Model:
        """Return the identity of the computation, which has no file."""
        return Model(NAME, hashlib.sha256(repr(sorted(SETTINGS.items())).encode()).hexdigest(), SETTINGS)

    def load(self, model: Model, device: str, threads: int) -> None:
        """Do nothing: there is no model."""

    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Return ``(frames, 513)`` of each sound; one shorter than a frame is filled with silence."""
        return one_by_one(_chosen, batch)


def _chosen(sound: Sound) -> NDArray[np.float32]:
    count = frame_count(sound.samples.size)
    return power_frames(sound.samples, positions(sound.item.clip, count, FRAMES_PER_CLIP))


def frame_count(samples: int) -> int:
    """Return how many whole frames fit; one for a shorter sound."""
    return 1 + max(0, samples - WINDOW) // HOP


def power_frames(samples: Samples, chosen: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the squared magnitudes of the frames at these positions, shape ``(chosen, 513)``."""
    filled = np.pad(samples.astype(np.float64), (0, max(0, WINDOW - samples.size)))
    frames = sliding_window_view(filled, WINDOW)[chosen * HOP]
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)
    power = np.abs(np.fft.rfft(frames * window, axis=1)) ** 2
    return np.asarray(power, np.float32)
