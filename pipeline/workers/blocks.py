"""Give small tasks to workers in blocks, so that a worker need not wait for this process after each of them.

A block holds what takes some tenth of a second by the tasks before it, one task at first. Values still come one by one:
a worker that dies costs the task that it was computing, and the others of its block are given out again.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Self, TypeVar

from codec_superb.pipeline.workers.executor import Executor, TaskResult, WorkerCrash

T = TypeVar("T")
R = TypeVar("R")

BLOCK_S = 0.25
"""Seconds that a block is meant to take; no worker is idle for longer at the end."""
MOST = 64
"""Tasks of a block at most, however quick."""
SHARE = 0.25
"""Weight of the newest task in the running mean of seconds: that of the first one includes what is loaded once."""


class _Block(NamedTuple):
    """The task of a worker: tasks of one function, in order."""

    number: int
    function: Callable[[Any], Iterator[Any]]
    tasks: tuple[Any, ...]


class _Value(NamedTuple):
    """One value of the task that is being computed."""

    value: Any


@dataclass(slots=True)
class _State:
    """How far a block is."""

    place: int = 0
    """Index of the task that is being computed."""
    values: int = 0
    """Its values that have come."""


def stream_in_blocks(
    pool: Executor,
    function: Callable[[T], Iterator[R]],
    tasks: Iterable[T],
    total: int,
    *,
    remainder: Callable[[T, int], T | None] | None = None,
) -> Generator[TaskResult[T, R] | WorkerCrash[T], None, None]:
    """Yield what ``pool.stream`` yields of ``tasks``, some ``total`` of them; the last blocks are small."""
    blocks = _Blocks(function, tasks, total, pool.size)
    with closing(pool.stream(_run, blocks)) as events:
        for event in events:
            if isinstance(event, WorkerCrash):
                yield from blocks.crashed(event, remainder)
            elif isinstance(event.value, _Value):
                yield blocks.answered(event.task, event.value)
            else:
                blocks.ended(event.task, event.value)


def _run(block: _Block) -> Iterator[_Value | float]:
    """Inside a worker: yield the values of each task, and at its end the seconds it took."""
    for task in block.tasks:
        since = time.monotonic()
        for value in block.function(task):
            yield _Value(value)
        yield time.monotonic() - since


class _Blocks(Generic[T]):
    """An iterator of blocks; goes on after its end where tasks are put back."""

    def __init__(self, function: Callable[[T], Iterator[Any]], tasks: Iterable[T], total: int, workers: int) -> None:
        self._function, self._tasks = function, iter(tasks)
        self._left, self._workers = total, workers
        self._again: deque[T] = deque()
        self._states: dict[int, _State] = {}
        self._alone = 0
        """Tasks put back, each of which gets a block of its own: one of them has ended its worker."""
        self._given = 0
        self._seconds = BLOCK_S
        """Running mean of what a task takes."""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> _Block:
        share = self._left // (2 * self._workers)
        size = 1 if self._alone else max(1, min(MOST, int(BLOCK_S / self._seconds), share))
        self._alone = max(0, self._alone - 1)
        together: list[T] = []
        while len(together) < size:
            try:
                together.append(self._again.popleft() if self._again else next(self._tasks))
            except StopIteration:
                break
        if not together:
            raise StopIteration
        self._given += 1
        self._left -= len(together)
        self._states[self._given] = _State()
        return _Block(self._given, self._function, tuple(together))

    def answered(self, block: _Block, answer: _Value) -> TaskResult[T, Any]:
        """Count a value, and return it with its task."""
        state = self._states[block.number]
        state.values += 1
        return TaskResult(block.tasks[state.place], answer.value)

    def ended(self, block: _Block, seconds: float) -> None:
        """Note that a task has given its last value, and how long it took."""
        state = self._states[block.number]
        self._seconds += SHARE * (max(seconds, 1e-6) - self._seconds)
        state.place, state.values = state.place + 1, 0
        if state.place == len(block.tasks):
            del self._states[block.number]

    def crashed(
        self, crash: WorkerCrash[_Block], remainder: Callable[[T, int], T | None] | None
    ) -> Iterator[WorkerCrash[T]]:
        """Put back what is left of a block, and yield the crash with the task that was lost, where one is known."""
        state = self._states.pop(crash.task.number, None)
        if state is None:  # it died after its last task
            return
        if not crash.located and len(crash.task.tasks) > 1:
            self._again.extendleft(reversed(crash.task.tasks))
            self._left += len(crash.task.tasks)
            self._alone = len(crash.task.tasks)
            return
        task, *others = crash.task.tasks[state.place :]
        rest = remainder(task, state.values) if remainder is not None else None
        left = others if rest is None else [rest, *others]
        self._again.extend(left)
        self._left += len(left)
        yield WorkerCrash(task, state.values, crash.reason, crash.log)
