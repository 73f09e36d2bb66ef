"""What speaker models on torch share: clips of one length in a batch, the same numbers each time, errors by name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from codec_superb.applications.errors import ApplicationError, MissingModel, OutOfMemory, PredictionFailed
from codec_superb.applications.interface import Backend, Prediction, Samples, Sound

if TYPE_CHECKING:
    import torch


class TorchEmbedder(Backend):
    """Embeds clips with a torch module.

    Only clips of exactly the same length share a batch. Padding changes an answer: convolutions reach into it,
    normalisations over time count it, and relative lengths round; a mask mends some of that and not all.
    """

    shortest: ClassVar[int]
    """Samples that the network needs at least."""

    @abstractmethod
    def embed(self, batch: torch.Tensor) -> torch.Tensor:
        """Map clips ``(clips, samples)`` on the device to embeddings ``(clips, dimensions)``, in inference mode."""

    def start(self, device: str, threads: int) -> None:
        """Set torch up for this process."""
        import torch

        torch.set_num_threads(max(1, threads))
        self.device = torch.device(device)

    def predict(self, batch: Sequence[Sound]) -> list[Prediction | Exception]:
        """Embed each clip, shape ``(dimensions,)``. Raises OutOfMemory where the batch is too large."""
        answers: dict[int, Prediction | Exception] = {}
        groups: dict[int, list[int]] = {}
        for position, sound in enumerate(batch):
            if reason := self._objection(sound.samples):
                answers[position] = PredictionFailed(reason)
            else:
                groups.setdefault(sound.samples.size, []).append(position)
        for positions in groups.values():
            vectors = self._run(np.stack([batch[position].samples for position in positions]))
            answers |= {position: _checked(vector) for position, vector in zip(positions, vectors, strict=True)}
        return [answers[position] for position in range(len(batch))]

    def _objection(self, samples: Samples) -> str:
        """Say why a clip cannot be embedded, '' where it can."""
        if samples.size < self.shortest:
            return f"the clip has {samples.size} samples at {self.rate} Hz; the speaker model needs {self.shortest}"
        if not np.isfinite(samples).all():
            return "the clip holds samples that are not finite"
        return "" if samples.any() else "the clip is silent: no speaker can be told"

    def _run(self, clips: Samples) -> Samples:
        import torch

        with torch.inference_mode(), exact_float32(), memory_errors():
            vectors = self.embed(torch.from_numpy(clips).to(self.device))
            return np.asarray(vectors.float().cpu().numpy())


@contextmanager
def exact_float32() -> Iterator[None]:
    """Compute float32 as float32, with the same algorithms each time: no TF32, no search for the fastest."""
    import torch

    matrices = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    try:
        with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False):
            yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = matrices


@contextmanager
def memory_errors() -> Iterator[None]:
    """Turn torch's errors of memory, on the CPU and on the GPU, into OutOfMemory."""
    import torch

    try:
        yield
    except torch.cuda.OutOfMemoryError as error:
        raise OutOfMemory(str(error)) from error
    except RuntimeError as error:
        if "allocate memory" in str(error):  # the CPU's allocator has no class of its own
            raise OutOfMemory(str(error)) from error
        raise


def _checked(vector: Samples) -> Prediction | Exception:
    if np.isfinite(vector).all() and vector.any():
        return vector
    return PredictionFailed("the speaker model answers with numbers that are zero or not finite")


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
    except ApplicationError:
        raise
    except Exception as error:
        raise MissingModel(
            f"{file.name} cannot be read as a checkpoint of tensors: {type(error).__name__}: {str(error)[:300]}; "
            "fetch it again"
        ) from error
