"""Base class of backends in a private environment, which run in the isolated runtime of codecs.

Sound goes to the worker through shared memory, one clip at a time; a text or an array comes back. A clip over which
the worker crashes, hangs or runs out of memory costs that clip, and the next one gets a new worker; three dead workers
in a row end the run.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from codec_superb.applications.errors import ApplicationError, MissingPackage, ModelUnusable, PredictionFailed
from codec_superb.applications.interface import Backend, Model, Prediction, Samples, Sound
from codec_superb.base_codec.card import Isolation
from codec_superb.base_codec.errors import CodecUnusable, RefusedSetting
from codec_superb.base_codec.isolation.environment import ensure_built
from codec_superb.base_codec.isolation.errors import EnvironmentFailed, GuestFailed, WorkerDied
from codec_superb.base_codec.isolation.host import GuestHost
from codec_superb.base_codec.isolation.lock import Lock, open_lock
from codec_superb.base_codec.isolation.process import WorkerProcess

Answer = TypeVar("Answer")
GUESTS = Path(__file__).parents[1] / "guests"


class IsolatedBackend(Backend):
    """Runs the guest that ``isolation`` names, in the environment that its lock describes.

    A subclass finds the model (:meth:`find`) and describes it for the guest (:meth:`describe`). The guest is
    ``Guest(description, device)`` with ``predict(samples)``, samples float32 ``(samples,)`` at ``rate``.
    """

    isolation: ClassVar[Isolation]
    """Lock and guest; the guest as a path, since those by name are codecs."""
    on_cuda: ClassVar[bool] = False
    """Whether its lock has packages for CUDA too and its guest computes there."""
    _host: GuestHost | None = None

    @abstractmethod
    def find(self, python: Path) -> Model:
        """Find or fetch the model's files; ``python`` is the interpreter of the environment. Raises MissingModel."""

    @abstractmethod
    def describe(self, model: Model, threads: int) -> dict[str, Any]:
        """Return the guest's description as JSON: place of its weights, expected properties, number of threads."""

    def prepare(self) -> Model:
        """Build the environment where there is none, and find the model.

        Raises MissingPackage with the command that builds the environment, where that is impossible now; MissingModel.
        """
        lock = open_lock(self.isolation.lock)
        try:
            python = ensure_built(lock, lambda text: print(text, file=sys.stderr)).python
        except EnvironmentFailed as error:
            raise MissingPackage(str(error)) from error
        return self.find(python)

    def load(self, model: Model, device: str, threads: int) -> None:
        """Start the worker and open the model in it.

        Raises ApplicationError for a device that the locked packages do not run on, and when the model cannot be
        opened, with the package's own reason.
        """
        if device != "cpu" and not self.on_cuda:
            raise ApplicationError(f"{model.name}: its locked packages run on the cpu, got device {device!r}")
        self.close()
        self._host = GuestHost(model.name, self.isolation, self.describe(model, threads), "model")
        try:
            self._host.start(device)
        except EnvironmentFailed as error:
            raise MissingPackage(str(error)) from error
        except (CodecUnusable, RefusedSetting) as error:
            raise ApplicationError(str(error)) from error

    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Predict each sound by itself; ModelUnusable among the answers ends the run, after three dead workers."""
        return [self._answered(sound.samples) for sound in batch]

    def answer(self, samples: Samples) -> Prediction:
        """Predict one sound; a subclass may divide it and join the predictions. Raises PredictionFailed."""
        return self.ask(samples)

    def ask(self, samples: Samples) -> Prediction:
        """Call the guest; errors as :meth:`call`."""
        found = self.call(lambda worker: worker.predict(samples), "predict")
        return found if isinstance(found, str) else _numbers(found)

    def call(self, question: Callable[[WorkerProcess], Answer], kind: str) -> Answer:
        """Send the worker a request of a kind.

        Raises PredictionFailed for an error of the clip, ModelUnusable for one that ends the run.
        """
        if self._host is None:
            raise ApplicationError(f"{type(self).__name__}: expected a loaded model, load() was not called")
        try:
            return self._host.ask(question, kind)
        except (WorkerDied, GuestFailed) as error:
            raise PredictionFailed(str(error)) from error
        except CodecUnusable as error:
            raise ModelUnusable(str(error)) from error

    def close(self) -> None:
        """End the worker."""
        host, self._host = self._host, None
        if host is not None:
            host.close()

    def _answered(self, samples: Samples) -> Prediction | Exception:
        if not samples.size:
            return PredictionFailed("expected sound, got no samples")
        try:
            return self.answer(samples)
        except (PredictionFailed, ModelUnusable) as error:
            return error


def _numbers(found: np.ndarray[Any, Any]) -> Prediction:
    """Return a valid prediction array. Raises PredictionFailed for any other."""
    if found.ndim != 1 or not found.size or found.dtype.kind not in "biuf":
        raise PredictionFailed(f"expected a text or numbers in one row, got {found.dtype} of shape {found.shape}")
    numbers = found.astype(np.float32)
    if not np.isfinite(numbers).all():
        raise PredictionFailed("expected finite numbers, the model gave others")
    return numbers


def package_of(lock: Lock, package: str) -> str:
    """Return a package and its version as the lock has it, for the settings of a model."""
    return f"{package} {lock.pins[package]}"
