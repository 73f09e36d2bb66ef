"""Base class of quality models on torch: one clip at a time, no gradients, an error fails one clip."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Backend, Prediction, Samples, Sound
from codec_superb.applications.one_by_one import one_by_one
from codec_superb.applications.torch_setup import set_up_torch


class TorchMosBackend(Backend):
    """A backend with one network; answers float32 of one value for each sound."""

    shortest = 1
    """Samples that a clip must have."""
    device = "cpu"
    network: Any = None

    def use(self, network: Any, device: str, threads: int) -> None:
        """Keep ``network`` for predictions on ``device``, with ``threads`` of the processor's cores."""
        set_up_torch(threads)
        self.device = device
        self.network = network.eval().to(device)

    @abstractmethod
    def opinion(self, samples: Any) -> Any:
        """Return the score of one clip, a tensor of shape ``(samples,)`` on the device, as a tensor of one value."""

    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Answer for each sound by itself, so that no answer depends on the others. Raises OutOfMemory."""
        return one_by_one(lambda sound: self._answer(sound.samples), batch)

    def _answer(self, samples: Samples) -> Prediction:
        if samples.size < self.shortest:
            raise PredictionFailed(f"expected at least {self.shortest} samples, got {samples.size}")
        with torch.inference_mode():
            score = self.opinion(torch.from_numpy(np.array(samples, np.float32)).to(self.device))
            return np.asarray(score.reshape(1).float().cpu().numpy(), dtype=np.float32)

    def close(self) -> None:
        """Release the network."""
        self.network = None
