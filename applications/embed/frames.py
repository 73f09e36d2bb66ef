"""Base class of encoders: frames of a sound, or one vector that pools them over the clip.

Frames are float32 ``(frames, dimensions)``, ``hop_s`` seconds apart; the first one begins where the sound does. A class
with the option ``pooling`` answers with one vector ``(dimensions,)`` instead.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.embed.options import read_options
from codec_superb.applications.errors import ApplicationError, PredictionFailed
from codec_superb.applications.interface import Backend, Prediction, Samples, Setting, Sound
from codec_superb.applications.one_by_one import one_by_one

Frames = NDArray[np.float32]
POOLINGS: dict[str, Callable[[Frames], NDArray[np.floating]]] = {
    "mean": lambda frames: frames.mean(axis=0, dtype=np.float64),
    "max": lambda frames: frames.max(axis=0),
    "last": lambda frames: frames[-1],
}


class FrameBackend(Backend):
    """A backend of the role ``frames``, or of ``vectors`` where ``pooling`` is among its options.

    Options stand behind the name, ``NAME:CHOSEN,pooling=max``; each is a setting of the model. ``chosen`` is what
    stands before them: a checkpoint, a file.
    """

    defaults: ClassVar[Mapping[str, Setting]] = {}
    """Options and their usual values."""

    def __init__(self, variant: str = "", weights: Path | None = None) -> None:
        # the variant stays whole: a worker makes its own copy from it
        super().__init__(variant, weights)
        self.chosen, self.options = read_options(variant, self.defaults)
        if self.options.get("pooling", "mean") not in POOLINGS:
            raise ApplicationError(f"option pooling: expected {', '.join(POOLINGS)}, got {self.options['pooling']!r}")

    @abstractmethod
    def frames(self, samples: Samples) -> Frames:
        """Return the frames of a sound of at least one sample; PredictionFailed where it is too short for one."""

    def samples_of(self, option: str) -> int:
        """Return how many samples at the backend's rate an option in seconds is."""
        return round(float(self.options[option]) * self.rate)

    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Return ``(frames, dimensions)`` or ``(dimensions,)`` of each sound; each is encoded by itself."""
        return one_by_one(lambda sound: self._answer(sound.samples), batch)

    def _answer(self, samples: Samples) -> Prediction:
        if not np.isfinite(samples).all():
            raise PredictionFailed("the clip holds samples that are not finite")
        found = self.frames(samples)
        if not len(found):
            raise PredictionFailed(f"the clip has {samples.size} samples at {self.rate} Hz: too short for one frame")
        pooling = self.options.get("pooling")
        return found if pooling is None else POOLINGS[str(pooling)](found).astype(np.float32)
