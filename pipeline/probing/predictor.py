"""Run one model on the sounds of one dataset, in batches on worker processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from codec_superb.applications.backends import BackendEntry
from codec_superb.applications.interface import Backend, Model, Terms
from codec_superb.applications.task_definitions.messages import Prompt
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.probing.clip import (
    BackendSpec,
    ClipPrediction,
    PredictTask,
    SoundPlace,
    load_backend,
    predict_sounds,
)
from codec_superb.pipeline.probing.predictions import Failure
from codec_superb.pipeline.runs.dataset_access import DatasetSpec
from codec_superb.pipeline.workers.batches import BatchQueue, Length, batches, halves
from codec_superb.pipeline.workers.executor import Executor, TaskResult, WorkerCrash
from codec_superb.pipeline.workers.progress import Progress


@dataclass(slots=True)
class Predictor:
    """Runs one model; workers are started with the first request."""

    backend: Backend
    entry: BackendEntry
    model: Model
    """Loaded once, whatever a chat is asked."""
    weights: Path | None
    dataset: DatasetSpec
    device: str
    """As given by the user; resolved once a worker has loaded the model."""
    progress: Progress
    pool: Executor
    """Worker processes of the whole command, each of which may load a copy of a small model."""
    stack: ExitStack
    """Ends the worker process of a large model."""
    prompt: Prompt | None = None
    """What a chat is asked next."""
    terms: Terms = Terms()  # noqa: RUF009 -- a tuple, which nobody changes
    _ready: BackendSpec | None = None

    def answers(self, sounds: Sequence[Length[SoundPlace]]) -> Iterator[ClipPrediction]:
        """Yield a prediction or failure for each sound, in any order; a sound that kills a worker fails with it."""
        if not sounds:
            return
        spec = self._start()._replace(prompt=self.prompt, terms=self.terms)
        groups = batches(sounds, self.backend.batch_seconds)
        queue = BatchQueue(PredictTask(spec, self.dataset, places) for places in groups)
        with closing(self.pool.stream(predict_sounds, queue)) as events:
            for event in events:
                if isinstance(event, TaskResult):
                    yield event.value
                elif (answer := self._crashed(event, queue)) is not None:
                    yield answer

    def _crashed(self, crash: WorkerCrash[PredictTask], queue: BatchQueue[PredictTask]) -> ClipPrediction | None:
        """Requeue the unanswered sounds of a dead worker in halves; a single one left is at fault and fails."""
        left = crash.task.places[crash.index :]
        if len(left) > 1:
            queue.put_back(crash.task._replace(places=half) for half in halves(left))
            return None
        self.progress.message(f"{self.model.name}: {left[0].clip}: {crash.reason}")
        return ClipPrediction(left[0], Failure(crash.reason))

    def _start(self) -> BackendSpec:
        """Load the model in a worker, once. Raises PipelineError where that kills the worker, ApplicationError."""
        if self._ready is not None:
            return self._ready
        alone = not self.backend.one_copy_per_worker or self.device == "cuda"
        if alone:
            self.pool = self.stack.enter_context(self.pool.alone())
        threads = 1 if self.backend.one_copy_per_worker else self.pool.threads
        spec = BackendSpec(self.entry, self.backend.variant, self.weights, self.model, self.device, threads)
        (event,) = self.pool.stream(load_backend, [spec])
        if not isinstance(event, TaskResult):
            raise PipelineError(f"{self.model.name} cannot be loaded: {event.reason}\n{event.log}".rstrip())
        self.device = event.value
        self._ready = spec._replace(device=self.device)
        return self._ready
