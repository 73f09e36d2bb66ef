"""Worker processes that outlive the executor that started them, and others that are forked: few tests wait for imports.

A worker serves many codecs and stages in one command as it is; here it serves the next command too, as long as that
command would have started one with the same environment, working folder and import path. Where it would not, a process
that has imported what workers import forks one.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from multiprocessing.connection import Pipe
from pathlib import Path
from typing import Any, cast

import pytest
from support.pipeline.worker_forks import ForkServer

from codec_superb.pipeline.workers import executor

KEPT = 2
"""Idle workers at most: a codec that one of them has open may be a gigabyte."""


class WarmWorkers:
    """Takes idle workers when an executor closes and hands them to the next."""

    def __init__(self) -> None:
        self.idle: list[tuple[object, executor._Worker]] = []
        self._start: Callable[[], executor._Worker] = executor._Worker.start
        self._close = executor.Executor.close
        self.limit = KEPT

    @contextmanager
    def used(self) -> Iterator[None]:
        """Stand between executors and their workers until the block ends, then end what is idle."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(executor._Worker, "start", self.start)
            warm = self

            def close(pool: executor.Executor, *, now: bool = False) -> None:
                if not now and warm.limit:
                    warm.keep(pool)
                warm._close(pool, now=now)

            patch.setattr(executor.Executor, "close", close)
            yield
        self.end()
        if "forks" in vars(self):
            self.forks.end()

    @cached_property
    def forks(self) -> ForkServer:
        """The process that forks workers, started when the first is needed."""
        return ForkServer()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Keep no worker until the block ends."""
        self.end()
        self.limit = 0
        yield
        self.limit = KEPT

    def start(self) -> executor._Worker:
        """Give an idle worker that was started in circumstances like the present ones, else fork one."""
        for entry in reversed(self.idle):
            if entry[0] == circumstances() and entry[1].process.poll() is None:
                self.idle.remove(entry)
                return entry[1]
        # a process that forks workers would keep the limit of the test that started it
        return self._forked() if self.limit and _largest_file() == _USUAL else self._start()

    def _forked(self) -> executor._Worker:
        mine, its = Pipe()
        log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the worker
        process = self.forks.fork(its.fileno(), log.fileno())
        its.close()
        mine.send(sys.path)
        return executor._Worker(cast("Any", process), mine, log)

    def keep(self, pool: executor.Executor) -> None:
        """Take the idle workers of a pool that closes; the oldest ones beyond ``KEPT`` end."""
        for worker in list(pool._workers):
            if worker.ready and not worker.busy and worker.process.poll() is None:
                pool._workers.remove(worker)
                self.idle.append((circumstances(), worker))
        self.end(self.limit)

    def end(self, kept: int = 0) -> None:
        """End all idle workers but the newest ``kept``, as an executor does."""
        last = executor.Executor(1)
        last._workers = [worker for _, worker in self.idle[: len(self.idle) - kept]]
        self.idle = self.idle[len(self.idle) - kept :] if kept else []
        self._close(last)


def circumstances() -> tuple[Any, ...]:
    """Return what a worker takes over when it starts."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    return environment, tuple(sys.path), Path.cwd(), _largest_file()


def _largest_file() -> tuple[int, int]:
    return resource.getrlimit(resource.RLIMIT_FSIZE)


_USUAL = _largest_file()
