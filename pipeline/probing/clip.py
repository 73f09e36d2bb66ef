"""Predict on batches of clips inside a worker: load the backend once, read and resample the clips, call the model.

A batch that a backend refuses is halved and repeated, down to single clips, so that a failing clip affects no other.
Errors that are the same for every clip (a missing package or model) end the stage.
"""

from __future__ import annotations

import atexit
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from codec_superb.applications.backends import BackendEntry
from codec_superb.applications.catalogue import make_backend
from codec_superb.applications.clips import at_rate, item_of, reference_at
from codec_superb.applications.errors import (
    AnswerBroken,
    MissingModel,
    MissingPackage,
    ModelUnusable,
    OutOfMemory,
    PredictionFailed,
)
from codec_superb.applications.interface import Backend, Model, Prediction, Samples, Sound, Terms
from codec_superb.applications.task_definitions.messages import Prompt
from codec_superb.applications.understanding.templates import render
from codec_superb.data_manifests import Clip, Dataset
from codec_superb.data_manifests.errors import StoreError
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.probing.predictions import Answer, Failure, checked, model_digest
from codec_superb.pipeline.runs.audio_store import read_audio
from codec_superb.pipeline.runs.dataset_access import DatasetSpec, dataset_of, reason_of


class BackendSpec(NamedTuple):
    """What a worker needs to create a backend and load its model."""

    entry: BackendEntry
    variant: str
    weights: Path | None
    model: Model
    device: str
    """``auto`` until :func:`load_backend` has resolved it."""
    threads: int
    prompt: Prompt | None = None
    """What a chat is asked; the loaded model is the same whatever the prompt."""
    terms: Terms = Terms()


class SoundPlace(NamedTuple):
    """One sound to predict on: a reference, or its resynthesis in a run."""

    clip: str
    run: int = -1
    """Index of the run in the parent's list; -1 for the reference."""
    path: str = ""
    sha256: str = ""


class PredictTask(NamedTuple):
    """The task of a worker: names and paths, from which it opens everything itself."""

    backend: BackendSpec
    dataset: DatasetSpec
    places: tuple[SoundPlace, ...]


class ClipPrediction(NamedTuple):
    """What the model answers to one sound."""

    place: SoundPlace
    answer: Answer


class _LoadedBackend:
    """The single backend that a worker has loaded; memory does not suffice for several models."""

    def __init__(self) -> None:
        self.key: tuple[object, ...] = ()
        self.backend: Backend | None = None
        self.room: int | None = None
        """Largest padded batch in samples, known once a larger one did not fit into memory."""
        atexit.register(self.close)

    def get(self, spec: BackendSpec) -> Backend:
        """Return the backend with its model loaded."""
        key = (spec.entry.target, spec.variant, spec.weights, model_digest(spec.model), spec.device, spec.threads)
        if self.backend is None or self.key != key:
            self.close()
            backend = make_backend(spec.entry, spec.variant, spec.weights)
            backend.load(spec.model, spec.device, spec.threads)
            self.backend, self.key = backend, key
        return self.backend

    def close(self) -> None:
        """Unload the backend."""
        backend, self.backend, self.key, self.room = self.backend, None, (), None
        if backend is not None:
            backend.close()


_HOLDER = _LoadedBackend()


def load_backend(spec: BackendSpec) -> Iterator[str]:
    """Load the model, so that errors are raised before the first clip; yield the device it is on."""
    device = _device(spec)
    _HOLDER.get(spec._replace(device=device))
    yield device


def loaded(spec: BackendSpec) -> Backend:
    """Return the one model that this process has loaded: the backend or second stage of ``spec``."""
    return _HOLDER.get(spec)


def _device(spec: BackendSpec) -> str:
    """Resolve ``auto``: ``cuda`` for a large model where there is a device. Raises PipelineError for a missing one."""
    if spec.device == "auto":
        made = make_backend(spec.entry, spec.variant, spec.weights)
        return "cpu" if made.one_copy_per_worker or made.remote or not _sees_cuda() else "cuda"
    if spec.device == "cuda" and not _sees_cuda():
        raise PipelineError("expected a CUDA device that torch or CTranslate2 can use, found none; use --device cpu")
    return spec.device


def _sees_cuda() -> bool:
    try:
        import torch

        if torch.cuda.is_available():
            return True
    except ImportError:
        pass
    try:
        # faster-whisper runs on CTranslate2, which needs no torch.
        import ctranslate2
    except ImportError:
        return False
    return bool(ctranslate2.get_cuda_device_count() > 0)


def predict_sounds(task: PredictTask) -> Iterator[ClipPrediction]:
    """Yield a prediction or failure for each place, in order. Raises only errors that end the stage."""
    backend = _HOLDER.get(task.backend)
    backend.terms = task.backend.terms
    reader = _SoundReader(dataset_of(task.dataset), backend, task.backend.prompt)
    read = [reader.read(place) for place in task.places]
    answers = _ask(backend, [sound for sound in read if isinstance(sound, Sound)])
    for place, sound in zip(task.places, read, strict=True):
        yield ClipPrediction(place, checked_answer(next(answers) if isinstance(sound, Sound) else sound))


class _SoundReader:
    """Reads sounds for one batch; references that several sounds share are read once."""

    def __init__(self, dataset: Dataset, backend: Backend, prompt: Prompt | None) -> None:
        self._dataset = dataset
        self._backend = backend
        self._prompt = prompt
        self._references: dict[str, Samples] = {}

    def read(self, place: SoundPlace) -> Sound | Exception:
        """Return the sound at the backend's rate, or why there is none."""
        clip: Clip | None = None
        try:
            clip = self._dataset.clip(place.clip)
            own = self._reference(clip) if place.run < 0 else self._resynthesis(place)
            item = item_of(clip)
            messages = render(self._prompt, item) if self._prompt else ()
            options = (self._prompt.classes or item.choices) if self._prompt else ()
            beside = self._reference(clip) if self._backend.needs_reference else None
            return Sound(item, own, beside, messages, options, place.sha256, self._dataset.name)
        except StoreError:
            raise  # the same for every clip
        except Exception as error:  # noqa: BLE001 - a sound that cannot be read costs its own clip only
            return _Unreadable(f"{type(error).__name__}: {reason_of(error, clip)}")

    def _reference(self, clip: Clip) -> Samples:
        known = self._references.get(clip.id)
        if known is None:
            known = self._references[clip.id] = reference_at(clip, self._backend.rate)
        return known

    def _resynthesis(self, place: SoundPlace) -> Samples:
        return at_rate(*read_audio(Path(place.path), place.sha256), self._backend.rate)


class _Unreadable(Exception):
    """The sound cannot be read; the text is the whole reason."""


def _ask(backend: Backend, batch: Sequence[Sound]) -> Iterator[Prediction | Exception]:
    """Yield the answers in order; a batch that the backend cannot take is halved."""
    if not batch:
        return
    if len(batch) == 1 or _HOLDER.room is None or _size(batch) <= _HOLDER.room:
        answers = _answers(backend, batch)
        if answers is not None:
            yield from map(_or_end, answers)
            return
    half = len(batch) // 2
    yield from _ask(backend, batch[:half])
    yield from _ask(backend, batch[half:])


def _answers(backend: Backend, batch: Sequence[Sound]) -> Sequence[Prediction | Exception] | None:
    """Call the model once; None where a batch of several must be halved."""
    try:
        answers = list(backend.predict(batch))
    except (MissingPackage, MissingModel, ModelUnusable):
        raise  # the same for every clip
    except Exception as error:  # noqa: BLE001 - whatever a model raises, it must not cost the other clips
        if len(batch) == 1:
            return [error]
        if isinstance(error, OutOfMemory | MemoryError):
            _HOLDER.room = _size(batch) // 2
        return None
    if len(answers) != len(batch):
        raise PipelineError(f"{type(backend).__name__}: expected {len(batch)} predictions, got {len(answers)}")
    return answers


def _or_end(answer: Prediction | Exception) -> Prediction | Exception:
    """Raise an answer that ends the run, after those before it have been yielded."""
    if isinstance(answer, ModelUnusable):
        raise answer
    return answer


def _size(batch: Sequence[Sound]) -> int:
    """Count the samples of a batch when all its sounds are padded to the longest."""
    return len(batch) * max(sound.samples.size for sound in batch)


def checked_answer(answer: Prediction | Exception) -> Answer:
    """Return the prediction; an exception or invalid prediction becomes a failure."""
    if isinstance(answer, Exception):
        final = isinstance(answer, PredictionFailed) and not isinstance(answer, AnswerBroken)
        return Failure(_reason(answer), final=final)
    try:
        return checked(answer)
    except PredictionFailed as error:
        return Failure(_reason(error), final=True)


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, _Unreadable) else f"{type(error).__name__}: {reason_of(error)}"
