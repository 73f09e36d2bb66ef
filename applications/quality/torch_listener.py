"""What the listeners that run on torch share: one clip at a time, no gradients, errors that cost one clip."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from codec_superb.applications.errors import OutOfMemory, PredictionFailed
from codec_superb.applications.interface import Backend, Prediction, Samples, Sound


class TorchListener(Backend):
    """A backend with one network; answers float32 of one value for each sound."""

    shortest = 1
    """Samples that a clip must have."""
    device = "cpu"
    network: Any = None

    def use(self, network: Any, device: str, threads: int) -> None:
        """Keep ``network`` for predictions on ``device``, with ``threads`` of the processor's cores."""
        torch.set_num_threads(threads)
        self.device = device
        self.network = network.eval().to(device)

    @abstractmethod
    def opinion(self, samples: Any) -> Any:
        """Return the score of one clip, a tensor of shape ``(samples,)`` on the device, as a tensor of one value."""

    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Answer for each sound by itself, so that no answer depends on the others. Raises OutOfMemory."""
        return [self._answer(sound.samples) for sound in batch]

    def _answer(self, samples: Samples) -> Prediction | Exception:
        if samples.size < self.shortest:
            return PredictionFailed(f"expected at least {self.shortest} samples, got {samples.size}")
        try:
            with torch.inference_mode():
                score = self.opinion(torch.from_numpy(np.array(samples, np.float32)).to(self.device))
                return np.asarray(score.reshape(1).float().cpu().numpy(), dtype=np.float32)
        except torch.OutOfMemoryError as error:
            raise OutOfMemory(f"{type(self).__name__}: {samples.size} samples did not fit on {self.device}") from error

    def close(self) -> None:
        """Let the network go."""
        self.network = None
