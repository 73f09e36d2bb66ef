"""Worker processes: one that dies costs one value, the parent never hangs, Ctrl-C is quick."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time

import pytest
from support.pipeline.workers import (
    alive,
    die_of_much,
    own_pid,
    page_faults,
    pid_then_sleep,
    remember,
    remembered,
    squares,
    thread_limits,
    without_first,
)
from support.timing import quickest, wait_for

from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.workers.executor import Executor, TaskResult, WorkerCrash


def test_every_value_of_every_task_comes_back() -> None:
    """All values arrive, whatever the order in which workers finish."""
    with Executor(2) as pool:
        events = list(pool.stream(squares, [(i, i + 1) for i in range(20)]))
    assert sorted(e.value for e in events if isinstance(e, TaskResult)) == sorted(
        n * n for i in range(20) for n in (i, i + 1)
    )


def test_a_worker_that_dies_costs_the_value_it_was_computing() -> None:
    """A segmentation fault and an exit in the middle of tasks lose two values, each named, and nothing else."""
    with Executor(2) as pool:
        events = list(pool.stream(squares, [(1, -1, 2), (3, -2), (4,)], remainder=without_first))
    assert sorted(e.value for e in events if isinstance(e, TaskResult)) == [1, 4, 9, 16]
    crashes = {(e.task[e.index], e.reason) for e in events if isinstance(e, WorkerCrash)}
    assert crashes == {(-1, "worker process killed by SIGSEGV"), (-2, "worker process ended with exit code 7")}


@pytest.mark.usefixtures("fresh_workers")
def test_the_last_words_of_a_dead_worker_are_kept() -> None:
    """What the fault handler wrote is there for the person who must find the fault.

    A worker that starts as users' workers do also keeps the memory of a task for the next one.
    """
    with Executor(1) as pool:
        (faults,) = [e.value for e in pool.stream(page_faults, [20]) if isinstance(e, TaskResult)]
        (crash,) = pool.stream(die_of_much, [1])
    # 9,000 where each round's arrays go back to the kernel; other libraries of C than glibc do as they do
    assert faults < 1000 or platform.libc_ver()[0] != "glibc"
    assert isinstance(crash, WorkerCrash)
    assert "Segmentation fault" in crash.log
    assert "die_of_much" in crash.log


def test_a_hanging_worker_is_ended_after_the_timeout() -> None:
    """A value that takes longer than the timeout is given up, the next task is served."""
    with Executor(1, timeout=6) as pool:
        events = list(pool.stream(squares, [(-3,), (5,)]))
    assert [e.reason for e in events if isinstance(e, WorkerCrash)] == [
        "no answer within 6 s; the worker process was ended"
    ]
    assert [e.value for e in events if isinstance(e, TaskResult)] == [25]


def test_an_exception_reaches_the_caller_as_itself() -> None:
    """What a task raises ends the stream with the same type and text."""
    with Executor(2) as pool, pytest.raises(ValueError, match="no square of -4 today"):
        list(pool.stream(squares, [(1,), (-4,)]))


@pytest.mark.usefixtures("fresh_workers")
def test_workers_that_cannot_start_end_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker program that dies at once is tried a few times, then its own words are shown."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with Executor(2) as pool, pytest.raises(PipelineError, match=r"cannot start .*exit code 1"):
        list(pool.stream(squares, [(1,)]))


def test_workers_are_kept_between_streams_and_share_no_threads() -> None:
    """Two stages use the same processes; numeric libraries in them use one thread each."""
    with Executor(1) as pool:
        first = [e.value for e in pool.stream(own_pid, [0]) if isinstance(e, TaskResult)]
        second = [e.value for e in pool.stream(own_pid, [0]) if isinstance(e, TaskResult)]
        (limits,) = [e.value for e in pool.stream(thread_limits, [""]) if isinstance(e, TaskResult)]
    assert first == second != [os.getpid()]
    assert set(limits) == {"1"}


def test_idle_workers_load_beforehand() -> None:
    """Each of the workers that are asked for loads once; what fails to load is left to the tasks."""
    with Executor(3) as pool:
        pool.load(remember, "once", 2)
        pool.load(remember, "twice", 2)
        assert pool.running == 2
        assert [e.value for e in pool.stream(remembered, range(4)) if isinstance(e, TaskResult)].count(["once"]) >= 2
    with Executor(1) as pool:
        pool.load(remember, "fail", 1)
        assert [e.value for e in pool.stream(squares, [(3,)]) if isinstance(e, TaskResult)] == [9]


def test_no_worker_outlives_its_executor() -> None:
    """After close no child is left, nor its own one, not even in the middle of a task."""
    pids: set[int] = set()

    def close() -> float:
        with Executor(2) as pool:
            pids.update(e.value for e in pool.stream(own_pid, range(8)) if isinstance(e, TaskResult))
            stream = pool.stream(pid_then_sleep, [0])
            pids.update(e.value for e in (next(stream), next(stream)) if isinstance(e, TaskResult))
            started = time.monotonic()
            stream.close()
        return time.monotonic() - started

    assert quickest(close, 1.0) < 1.0
    assert pids
    wait_for(lambda: not any(alive(pid) for pid in pids), "a worker, or its program, outlived the executor")


def test_workers_end_when_their_parent_is_killed() -> None:
    """SIGKILL of the parent alone ends a busy worker and its program within a second or so."""
    code = (
        f"import sys; sys.path[:] = {sys.path!r}\n"
        "from codec_superb.pipeline.workers.executor import Executor\n"
        "from support.pipeline import workers\n"
        "for event in Executor(1).stream(workers.pid_then_sleep, [0]): print(event.value, flush=True)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pids = [int(parent.stdout.readline()) for _ in range(2)]
    assert all(map(alive, pids))
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_for(lambda: not any(map(alive, pids)), "the worker, or its program, outlived its parent")


def test_less_than_one_worker_is_refused() -> None:
    """A pool of nobody would wait for ever."""
    with pytest.raises(PipelineError, match="at least 1 worker, got 0"):
        Executor(0)
