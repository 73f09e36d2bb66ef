"""An executor whose tasks run on Apache Beam: the same stream of values, on whatever runner Beam is told to use.

Beam gets the places of tasks in a file of a shared folder. Each of its workers keeps one worker process of
:mod:`~codec_superb.pipeline.workers.executor`, so that a task that dies costs what it costs there, and writes what
comes of a task into a file of its own beside it. This process reads these files as they appear: journals stay with it.
"""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

from codec_superb.missing_package import not_installed
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.workers.executor import Executor, TaskResult, WorkerCrash

T = TypeVar("T")
R = TypeVar("R")

LOCAL = "FnApiRunner"
"""What ``DirectRunner`` comes down to for these pipelines; by that name Beam 2.77 first fetches and starts a program of
another language (Prism), and goes on with this one where it cannot."""
POLL_S = 0.05
"""Seconds between looks for results."""
STOP = "stop"
"""A file of this name in the job's folder tells workers to take no further task."""


class Job(NamedTuple):
    """What a process that starts a pipeline, and every worker of Beam, is given."""

    folder: str
    """Holds tasks and results; all workers see it at this path."""
    function: Callable[[Any], Iterator[Any]]
    path: tuple[str, ...]
    """Import path of this process; of a worker elsewhere only what exists there is used."""
    places: tuple[tuple[int, int], ...]
    """Offset and size of each task in the file of tasks."""
    arguments: tuple[str, ...]
    """Options of Beam."""
    timeout: float | None


class BeamExecutor(Executor):
    """Runs streams of tasks as Beam pipelines, one after the other."""

    def __init__(
        self,
        options: Sequence[str] = (),
        workers: int | None = None,
        *,
        shared: Path | None = None,
        timeout: float | None = None,
    ) -> None:
        """Take options of Beam as ``name=value``; without ``runner`` its local runner has a thread a worker.

        ``shared`` is the folder through which tasks and results go; another runner than the local one needs it.
        Raises PipelineError where Beam is not installed, or the folder is missing.
        """
        super().__init__(workers, timeout=timeout)
        if find_spec("apache_beam") is None:
            raise PipelineError(not_installed("--executor beam", "apache-beam", extra="beam"))
        given = dict(option.partition("=")[::2] for option in options)
        if given.setdefault("runner", LOCAL) in {LOCAL, "DirectRunner"}:
            usual = {"direct_num_workers": str(self.size), "direct_running_mode": "multi_threading"}
            given = usual | given
        elif shared is None:
            raise PipelineError(
                f"the runner {given['runner']} needs shared=DIR, a folder that all its workers see at the same path"
            )
        self._arguments = tuple(f"--{name}={value}" if value else f"--{name}" for name, value in given.items())
        self._shared = shared

    def load(self, function: Callable[[T], None], argument: T, most: int) -> None:
        """Nothing: Beam starts its workers with their tasks."""

    def stream(
        self,
        function: Callable[[T], Iterator[R]],
        tasks: Iterable[T],
        *,
        remainder: Callable[[T, int], T | None] | None = None,
    ) -> Generator[TaskResult[T, R] | WorkerCrash[T], None, None]:
        """Yield what the executor yields, as it comes in; tasks are all taken at once.

        Tasks that are put back while a pipeline runs, and what remains of one that killed its worker, go into another
        pipeline after it.
        """
        source, again = iter(tasks), deque[T]()
        while batch := [*again, *source]:
            again.clear()
            for event in self._pipeline(function, batch):
                if isinstance(event, WorkerCrash) and remainder is not None:
                    rest = remainder(event.task, event.index)
                    if rest is not None:
                        again.append(rest)
                yield event

    def _pipeline(
        self, function: Callable[[T], Iterator[R]], batch: Sequence[T]
    ) -> Iterator[TaskResult[T, R] | WorkerCrash[T]]:
        """Run one pipeline over ``batch``."""
        with ExitStack() as stack:
            folder = Path(tempfile.mkdtemp(prefix="codec-superb-beam-", dir=self._shared))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            job = Job(
                str(folder), function, tuple(sys.path), _write_tasks(folder, batch), self._arguments, self.timeout
            )
            log = stack.enter_context(tempfile.TemporaryFile())
            process = _start(job, log)
            stack.callback(_end, process, folder)
            left = set(range(len(batch)))
            while left:
                running = process.poll() is None
                found = sorted(int(file.stem) for file in folder.glob("[0-9]*.result"))
                for number in found:
                    # a task that Beam has tried twice answers once
                    if number in left:
                        left.remove(number)
                        yield from _events(folder, number, batch[number])
                if not running and not found:
                    raise PipelineError(_lost(process.returncode, len(left), folder, log))
                if not found:
                    time.sleep(POLL_S)


def _write_tasks(folder: Path, batch: Sequence[Any]) -> tuple[tuple[int, int], ...]:
    """Write the tasks one after another; return their places."""
    places = []
    with (folder / "tasks").open("wb") as file:
        for task in batch:
            data = pickle.dumps(task)
            places.append((file.tell(), len(data)))
            file.write(data)
    return tuple(places)


def _start(job: Job, log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start the program that hands the job to Beam, in a process of its own: Beam's threads and logs stay there."""
    path = Path(job.folder) / "job"
    code = (
        "import pickle, sys; file = open(sys.argv[1], 'rb'); sys.path[:] = pickle.load(file); "
        "from codec_superb.pipeline.workers.beam_job import main; main(pickle.load(file))"
    )
    path.write_bytes(pickle.dumps(list(job.path)) + pickle.dumps(job))
    return subprocess.Popen(
        [sys.executable, "-P", "-c", code, str(path)],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        # Ctrl-C of a terminal goes to this process alone, which ends the other
        start_new_session=True,
    )


def _end(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Let workers take no further task, and end the program; one that has nothing left to do ends by itself."""
    with suppress(OSError):
        (folder / STOP).touch()
    with suppress(subprocess.TimeoutExpired):
        process.wait(0.2)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, 9)
    process.wait()


def _events(folder: Path, number: int, task: T) -> Iterator[TaskResult[T, Any] | WorkerCrash[T]]:
    """Yield what came of one task, and delete its file. Raises what the task raised."""
    path = folder / f"{number}.result"
    events = pickle.loads(path.read_bytes())  # noqa: S301 - by a worker, in a folder that only this user may write to
    path.unlink()
    for kind, *parts in events:
        if kind == "value":
            yield TaskResult(task, parts[0])
        elif kind == "crash":
            yield WorkerCrash(task, *parts)
        else:
            raise parts[0]


def _lost(code: int, tasks: int, folder: Path, log: IO[bytes]) -> str:
    """Say why results are missing."""
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - 3000))
    words = log.read().decode(errors="replace").strip()
    if code:
        return f"Beam ended with exit code {code} and without the results of {tasks} tasks; end of its log:\n{words}"
    return (
        f"Beam ended without the results of {tasks} tasks in {folder}: expected a folder that all its workers see at "
        f"this path; name one with --executor beam:…,shared=DIR; end of its log:\n{words}"
    )
