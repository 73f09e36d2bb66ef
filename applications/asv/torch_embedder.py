"""Base class of speaker backends on torch: one clip at a time, deterministic, with errors of this package."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from codec_superb.applications.errors import MissingModel, PredictionFailed
from codec_superb.applications.interface import Backend, Prediction, Sound
from codec_superb.applications.one_by_one import one_by_one

if TYPE_CHECKING:
    import torch


class TorchEmbedder(Backend):
    """Embeds clips with a torch module, each alone.

    Padding to a common length would change an answer: convolutions reach into it, normalisations over time count it,
    and relative lengths round; a mask mends some of that and not all. Clips of one length would differ in the last
    digits, since a matrix product adds up in another order.
    """

    shortest: ClassVar[int]
    """Samples that the network needs at least."""

    @abstractmethod
    def embed(self, clips: torch.Tensor) -> torch.Tensor:
        """Map clips ``(clips, samples)`` on the device to embeddings ``(clips, dimensions)``, in inference mode."""

    def start(self, device: str, threads: int) -> None:
        """Set torch up for this process."""
        import torch

        from codec_superb.applications.torch_setup import set_up_torch

        set_up_torch(threads)
        self.device = torch.device(device)

    def predict(self, batch: Sequence[Sound]) -> list[Prediction | Exception]:
        """Embed each clip, shape ``(dimensions,)``. Raises OutOfMemory where a clip does not fit."""
        return one_by_one(self._answer, batch)

    def _answer(self, sound: Sound) -> Prediction:
        import torch

        samples = sound.samples
        if samples.size < self.shortest:
            raise PredictionFailed(
                f"the clip has {samples.size} samples at {self.rate} Hz; the speaker model needs {self.shortest}"
            )
        if not np.isfinite(samples).all():
            raise PredictionFailed("the clip holds samples that are not finite")
        if not samples.any():
            raise PredictionFailed("the clip is silent: no speaker can be told")
        with torch.inference_mode():
            clip = torch.tensor(samples, dtype=torch.float32).to(self.device)  # a copy, where torch aligns it
            vector = np.asarray(self.embed(clip[None])[0].float().cpu().numpy())
        if not np.isfinite(vector).all() or not vector.any():
            raise PredictionFailed("the speaker model answers with numbers that are zero or not finite")
        return vector


def load_state(module: Any, state: Any, file: str) -> None:
    """Fill ``module`` from a state dictionary. Raises MissingModel naming the tensors that do not fit."""
    try:
        module.load_state_dict(state)
    except RuntimeError as error:
        raise MissingModel(f"{file} does not fit the network that is described beside it: {error}") from error


def load_tensors(file: Any) -> Any:
    """Read a checkpoint of tensors, running no code that it may hold. Raises MissingModel where it is none."""
    import torch

    try:
        return torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:
        raise MissingModel(
            f"{file.name} cannot be read as a checkpoint of tensors: {type(error).__name__}: {str(error)[:300]}; "
            "fetch it again"
        ) from error
