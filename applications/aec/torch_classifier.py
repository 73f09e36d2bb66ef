"""Base class of sound-event backends on torch: one clip at a time, in windows, with the mean over them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Backend, Prediction, Samples, Sound
from codec_superb.applications.one_by_one import one_by_one

if TYPE_CHECKING:
    import torch

AT_ONCE = 8
"""Windows of one clip in one forward pass."""


class TorchClassifier(Backend):
    """Scores each window of a clip. Clips never share a batch: a matrix product rounds differently with its size."""

    shortest: ClassVar[int] = 1
    """Samples that a clip must have."""
    window: int
    """Samples of a window; known once the model is loaded."""
    device: str

    @abstractmethod
    def features(self, samples: Samples) -> NDArray[np.float32]:
        """Return the network's input for a window of at most ``window`` samples."""

    @abstractmethod
    def scores(self, batch: torch.Tensor) -> torch.Tensor:
        """Map inputs ``(windows, …)`` on the device to class scores ``(windows, classes)``."""

    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Return the mean class scores of each sound, float32. Raises OutOfMemory where a clip does not fit."""
        return one_by_one(lambda sound: self._answer(sound.samples), batch)

    def _answer(self, samples: Samples) -> Prediction:
        import torch

        if samples.size < self.shortest:
            raise PredictionFailed(f"the clip has {samples.size} samples; the model needs {self.shortest}")
        inputs = np.stack([self.features(window) for window in windows(samples, self.window)])
        found = []
        with torch.inference_mode():
            for start in range(0, len(inputs), AT_ONCE):
                part = torch.from_numpy(inputs[start : start + AT_ONCE]).to(self.device)
                found.append(self.scores(part).cpu().numpy().astype(np.float64))
        mean: NDArray[np.float32] = np.concatenate(found).mean(axis=0).astype(np.float32)
        if not np.isfinite(mean).all():
            raise PredictionFailed("the model gave scores that are not finite")
        return mean


def windows(samples: Samples, length: int) -> list[Samples]:
    """Return windows of ``length`` samples that cover the clip; a clip of at most that length is one window as it is.

    A longer clip has as few windows as cover it, evenly spaced, the last ending where the clip ends: none is filled
    with silence, which would count as much as sound in a mean over windows.
    """
    if samples.size <= length:
        return [samples]
    count = -(-samples.size // length)
    # Evenly spread, so that the last window is not mostly silence.
    starts = np.rint(np.linspace(0, samples.size - length, count)).astype(int)
    return [samples[start : start + length] for start in starts]
