"""Embed blocks of texts in worker processes: an encoder is loaded there, and a text that kills a worker fails alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Prediction, TextEncoder, TextRole
from codec_superb.applications.memory import is_out_of_memory
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.probing.chain import SecondPlan
from codec_superb.pipeline.probing.clip import BackendSpec, checked_answer, load_backend, loaded
from codec_superb.pipeline.probing.predictions import Answer, Failure
from codec_superb.pipeline.workers.batches import BatchQueue, halves
from codec_superb.pipeline.workers.executor import Executor, TaskResult, WorkerCrash
from codec_superb.pipeline.workers.progress import Progress


class TextBlock(NamedTuple):
    """Texts that are embedded and stored together, or a part of them."""

    number: int
    texts: tuple[str, ...]
    first: int = 0
    """Position of the first text in the block."""


class _EmbedTask(NamedTuple):
    """The task of a worker."""

    encoder: BackendSpec
    role: TextRole
    block: TextBlock


@dataclass(slots=True)
class Embedder:
    """Embeds texts with one encoder; workers are started with the first request."""

    plan: SecondPlan
    device: str
    """As given by the user."""
    progress: Progress
    pool: Executor
    """Worker processes of the whole command, each of which may load a copy of a small encoder."""
    stack: ExitStack
    """Ends the worker process of a large encoder."""
    _ready: BackendSpec | None = None

    def embed(self, blocks: Iterable[TextBlock], role: TextRole) -> Iterator[tuple[TextBlock, list[Answer]]]:
        """Yield each block with a vector or a failure for each of its texts, in any order of blocks."""
        encoder = self._start()
        queue = BatchQueue(_EmbedTask(encoder, role, block) for block in blocks)
        open_blocks: dict[int, _OpenBlock] = {}
        with closing(self.pool.stream(_embed, queue)) as events:
            for event in events:
                part = event.task.block
                answers = event.value if isinstance(event, TaskResult) else self._crashed(event, queue)
                block = open_blocks.setdefault(part.number, _OpenBlock({}, {}))
                block.texts |= dict(enumerate(part.texts, part.first))
                block.answers |= dict(enumerate(answers, part.first))
                whole = block.whole(part.number)
                if whole is not None:
                    del open_blocks[part.number]
                    yield whole

    def _crashed(self, crash: WorkerCrash[_EmbedTask], queue: BatchQueue[_EmbedTask]) -> list[Answer]:
        """Requeue the texts of a dead worker in halves; a single one is at fault and fails."""
        block = crash.task.block
        if len(block.texts) == 1:
            return [Failure(crash.reason)]
        first = block.first
        for half in halves(block.texts):
            queue.put_back([crash.task._replace(block=TextBlock(block.number, half, first))])
            first += len(half)
        return []

    def _start(self) -> BackendSpec:
        """Load the encoder in a worker, once. Raises PipelineError where that kills the worker, ApplicationError."""
        if self._ready is not None:
            return self._ready
        stage = self.plan.stage
        small = stage.one_copy_per_worker
        if not small or self.device == "cuda":
            self.pool = self.stack.enter_context(self.pool.alone())
        threads = 1 if small else self.pool.threads
        spec = BackendSpec(self.plan.entry, stage.variant, stage.weights, self.plan.model, self.device, threads)
        (event,) = self.pool.stream(load_backend, [spec])
        if not isinstance(event, TaskResult):
            raise PipelineError(f"{self.plan.model.name} cannot be loaded: {event.reason}\n{event.log}".rstrip())
        self._ready = spec._replace(device=event.value)
        return self._ready


@dataclass(slots=True)
class _OpenBlock:
    """Texts and answers of a block by their positions; it is whole once each text has an answer."""

    texts: dict[int, str]
    answers: dict[int, Answer]

    def whole(self, number: int) -> tuple[TextBlock, list[Answer]] | None:
        if len(self.answers) < len(self.texts):
            return None
        return TextBlock(number, tuple(self.texts[at] for at in sorted(self.texts))), [
            self.answers[at] for at in sorted(self.answers)
        ]


def _embed(task: _EmbedTask) -> Iterator[list[Answer]]:
    """Embed one block inside a worker; where that is refused, text by text."""
    encoder = loaded(task.encoder)
    assert isinstance(encoder, TextEncoder)
    yield [checked_answer(answer) for answer in _answers(encoder, task.block.texts, task.role)]


def _answers(encoder: TextEncoder, texts: Sequence[str], role: TextRole) -> list[Prediction | Exception]:
    try:
        rows = encoder.embed(texts, role)
    except Exception as error:
        if len(texts) == 1 and isinstance(error, PredictionFailed):
            return [error]
        if not isinstance(error, PredictionFailed) and not is_out_of_memory(error):
            raise
        return [answer for text in texts for answer in _answers(encoder, [text], role)] if len(texts) > 1 else [error]
    if not isinstance(rows, np.ndarray) or rows.shape[:1] != (len(texts),) or rows.ndim != 2:  # noqa: PLR2004 -- (texts, numbers)
        got = rows.shape if isinstance(rows, np.ndarray) else type(rows).__name__
        raise PipelineError(f"{type(encoder).__name__}: expected {len(texts)} rows of numbers, got {got}")
    return list(rows)
