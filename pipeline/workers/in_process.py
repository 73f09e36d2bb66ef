"""An executor that runs tasks in this process, one after the other: for what cannot leave it, and for few clips."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TypeVar

from codec_superb.pipeline.workers.executor import Executor, TaskResult, WorkerCrash

T = TypeVar("T")
R = TypeVar("R")


class InProcessExecutor(Executor):
    """Calls functions here; nothing is pickled. There is no time limit, and a crash is this process's own."""

    def __init__(self) -> None:
        super().__init__(1)

    def load(self, function: Callable[[T], None], argument: T, most: int) -> None:
        """Nothing: this process loads what it needs with the first task."""

    def stream(
        self,
        function: Callable[[T], Iterator[R]],
        tasks: Iterable[T],
        *,
        remainder: Callable[[T, int], T | None] | None = None,  # noqa: ARG002 - no worker dies here
    ) -> Generator[TaskResult[T, R] | WorkerCrash[T], None, None]:
        """Call ``function`` on every task and yield its values, in order; what it raises is raised here."""
        for task in tasks:
            for value in function(task):
                yield TaskResult(task, value)
