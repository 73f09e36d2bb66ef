"""Blocks of small tasks: the events of single tasks, with fewer trips between the processes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

from support.pipeline.workers import squares, without_first

from codec_superb.pipeline.workers.batches import BatchQueue
from codec_superb.pipeline.workers.blocks import MOST, stream_in_blocks
from codec_superb.pipeline.workers.executor import Executor, TaskResult, WorkerCrash
from codec_superb.pipeline.workers.in_process import InProcessExecutor

Events = Generator[TaskResult[Any, Any] | WorkerCrash[Any], None, None]


def test_a_death_within_a_block_costs_the_value_that_was_computed() -> None:
    """Whatever its place in a block, the task that killed its worker is named, and all others are done once."""
    tasks: list[tuple[int, ...]] = [(n,) for n in range(100)]
    tasks[40], tasks[41], tasks[99] = (1000, -1, 1001), (-2,), (-1,)
    with Executor(2) as pool:
        events = list(stream_in_blocks(pool, squares, tasks, len(tasks), remainder=without_first))
    values = sorted(event.value for event in events if isinstance(event, TaskResult))
    assert values == sorted(n * n for n in (*range(40), *range(42, 99), 1000, 1001))
    assert all(e.value in {n * n for n in e.task} for e in events if isinstance(e, TaskResult))
    assert sorted((e.task[e.index], e.reason) for e in events if isinstance(e, WorkerCrash)) == [
        (-2, "worker process ended with exit code 7"),
        (-1, "worker process killed by SIGSEGV"),
        (-1, "worker process killed by SIGSEGV"),
    ]


def test_tasks_that_are_put_back_late_are_done() -> None:
    """A queue that fills again after its end, as after the death of a batch, is emptied."""
    queue = BatchQueue([(1,), (-1, 2), (3,)])
    with Executor(1) as pool:
        found = []
        for event in stream_in_blocks(pool, squares, queue, 3):
            if isinstance(event, WorkerCrash):
                queue.put_back([event.task[1:]])
            else:
                found.append(event.value)
    assert sorted(found) == [1, 4, 9]


def test_quick_tasks_go_together_and_the_last_ones_apart() -> None:
    """A thousand tasks of microseconds take a few dozen trips; the last blocks are small, so that no worker waits."""
    sizes: list[int] = []

    class Counting(InProcessExecutor):
        def stream(self, function: Callable[[Any], Iterator[Any]], tasks: Iterable[Any], **rest: Any) -> Events:
            def counted() -> Iterator[Any]:
                for task in tasks:
                    sizes.append(len(task.tasks))
                    yield task

            return super().stream(function, counted(), **rest)

    events = list(stream_in_blocks(Counting(), squares, [(n,) for n in range(1000)], 1000))
    assert [event.value for event in events if isinstance(event, TaskResult)] == [n * n for n in range(1000)]
    assert sizes[0] == sizes[-1] == 1
    assert max(sizes) == MOST
    assert len(sizes) < 60


def test_a_death_that_nothing_locates_costs_the_task_that_dies_alone() -> None:
    """Where only the block is known that ended its worker, its tasks are given out one by one, and one is to blame."""
    poison = (30,)

    class Unlocated(InProcessExecutor):
        def stream(self, function: Callable[[Any], Iterator[Any]], tasks: Iterable[Any], **rest: Any) -> Events:
            for task in tasks:
                if poison in task.tasks:
                    yield WorkerCrash(task, 0, "lost", "", located=False)
                else:
                    yield from super().stream(function, [task], **rest)

    events = list(stream_in_blocks(Unlocated(), squares, [(n,) for n in range(100)], 100))
    assert sorted(e.value for e in events if isinstance(e, TaskResult)) == [n * n for n in range(100) if n != 30]
    assert [e.task for e in events if isinstance(e, WorkerCrash)] == [poison]
