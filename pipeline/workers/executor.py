"""A pool of worker processes with one task each; the death of a worker costs only the clip that it was computing.

Every worker has its own pipe, so that one that is killed in the middle of a message does not block the others (a pool
whose workers share one queue stops when the dead one held its lock; decision 7). Workers are plain child programs: they
need no ``__main__`` guard, inherit no thread and no lock, and start with single-threaded numerical libraries.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import IO, Any, Generic, Self, TypeVar

from codec_superb.base_codec.isolation.exit_status import how_it_ended
from codec_superb.pipeline.errors import PipelineError

T = TypeVar("T")
R = TypeVar("R")

START_ATTEMPTS = 3
"""Workers in a row that may die before they are ready; then the command ends."""
START_TIMEOUT_S = 60.0
"""Seconds a worker may take to start on a busy machine before it counts as hanging."""
LOG_LIMIT = 1 << 20
"""Bytes of a worker's standard error kept at most."""
LOG_READ, LOG_SHOWN = 16_000, 2000
"""Bytes of its end that are looked at, characters of them that a row may carry."""
SILENCE: tuple[str, Any] = ("silence", None)
"""What a dead or late worker says."""
# a process a core: threads of their numerics would only compete for the cores
SINGLE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
KEPT_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(32 << 20), "MALLOC_TRIM_THRESHOLD_": str(64 << 20)}
"""What glibc's malloc comes to by itself once a block of 32 MiB was freed (mallopt(3)); before, it gives the arrays of
each clip of 2 s back to the kernel: 650 page faults, 1.4 ms of processor time on a busy machine."""


@dataclass(frozen=True, slots=True)
class TaskResult(Generic[T, R]):
    """One value of a task."""

    task: T
    value: R


@dataclass(frozen=True, slots=True)
class WorkerCrash(Generic[T]):
    """The worker died, or gave no answer in time, while it computed value ``index`` of ``task``."""

    task: T
    index: int
    reason: str
    log: str
    """End of the worker's standard error."""
    located: bool = True
    """Whether ``index`` is known; where it is not, the worker may have died of any value of the task."""


def usable_cores() -> int:
    """Return the number of cores this process may run on."""
    # taskset and containers with a cpuset give a process fewer cores than the machine has
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(slots=True)
class _Worker:
    """One child process and its current task."""

    process: subprocess.Popen[bytes]
    link: Connection[Any, Any]
    log: IO[bytes]
    ready: bool = False
    task: Any = None
    busy: bool = False
    answered: int = 0
    since: float = 0.0
    loaded: str = ""
    """Name of the function that it was last told to load by."""

    @classmethod
    def start(cls) -> _Worker:
        """Start the program of a worker and send it the import path."""
        mine, its = Pipe()
        # a file, not a pipe: a worker that writes much would block on a full pipe
        log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the worker
        environment = KEPT_MEMORY | os.environ | dict.fromkeys(SINGLE_THREAD, "1")
        # -P (Python 3.11): the folder of worker.py is not put on the import path.
        program = [sys.executable, "-P", str(Path(__file__).with_name("worker.py")), str(its.fileno())]
        try:
            process = subprocess.Popen(
                program, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[its.fileno()], env=environment,
                process_group=0,
            )  # fmt: skip
        except OSError as error:
            mine.close()
            log.close()
            raise PipelineError(f"cannot start a worker process ({error}); try fewer workers") from error
        finally:
            its.close()
        # reaped as it ends: a kernel of Jupyter that is to end waits for its children, zombies too, and is then killed
        threading.Thread(target=process.wait, daemon=True).start()
        with suppress(BrokenPipeError, ConnectionResetError):  # a dead worker is detected when its answer is read
            # tests and plug-ins may have changed it; functions are pickled by name and must be found
            mine.send(sys.path)
        return cls(process, mine, log)

    def give(self, function: Callable[[Any], Iterator[Any]], task: Any) -> None:
        """Send one task; a dead worker is detected when its answer is read."""
        self.task, self.busy, self.answered, self.since = task, True, 0, time.monotonic()
        with suppress(BrokenPipeError, ConnectionResetError):
            self.link.send((function, task))

    def message(self) -> tuple[str, Any]:
        """Read one message."""
        try:
            kind, value = self.link.recv()
        except (EOFError, OSError):
            return SILENCE
        return kind, value

    def log_tail(self) -> str:
        """Return the end of what the worker wrote to its standard error."""
        size = self.log.seek(0, os.SEEK_END)
        self.log.seek(max(0, size - LOG_READ))
        # faulthandler ends with a line of some 150 modules, longer than all else that it says
        lines = self.log.read().decode(errors="replace").splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith("Extension modules:"))[-LOG_SHOWN:].strip()

    def trim_log(self) -> None:
        """Truncate a log beyond its size limit."""
        if os.fstat(self.log.fileno()).st_size > LOG_LIMIT:
            self.log.truncate(0)
            self.log.seek(0)

    def terminate(self, patience: float) -> str:
        """Wait ``patience`` seconds for the process to end, then kill it; return how it ended."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(patience)
        self.kill()
        self.link.close()
        return f"worker process {how_it_ended(self.process.wait())}"

    def kill(self) -> None:
        """Kill the process and what it started: a program that a codec waits for would go on for ever."""
        with suppress(ProcessLookupError, PermissionError):  # macOS: no permission to signal zombies
            os.killpg(self.process.pid, signal.SIGKILL)


class Executor:
    """A set of worker processes, started when first needed, shared by all stages of one command."""

    def __init__(self, workers: int | None = None, *, timeout: float | None = None) -> None:
        """Use up to ``workers`` processes (default: every usable core); ``timeout`` in seconds between two values."""
        self.size = usable_cores() if workers is None else workers
        if self.size < 1:
            raise PipelineError(f"expected at least 1 worker, got {workers}")
        self.timeout = timeout
        self._workers: list[_Worker] = []
        self._failed_starts = 0

    @property
    def running(self) -> int:
        """Current number of worker processes."""
        return len(self._workers)

    @property
    def threads(self) -> int:
        """Threads that a large model may use in a worker of :meth:`alone`."""
        return usable_cores()

    def alone(self) -> AbstractContextManager[Executor]:
        """Return the executor of a large model: one worker process with all cores of this machine."""
        return Executor(1, timeout=self.timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close(now=kind is not None)

    def close(self, *, now: bool = False) -> None:
        """End all workers: idle ones close their codecs first, unless ``now``."""
        workers, self._workers = self._workers, []
        if not now:
            for worker in workers:
                worker.link.close()
            # a closed link ends a worker; one that is busy is killed after a second
            deadline = time.monotonic() + 1
            for worker in workers:
                with suppress(subprocess.TimeoutExpired):
                    worker.process.wait(max(0.0, deadline - time.monotonic()))
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.process.wait()
            worker.link.close()
            worker.log.close()

    def load(self, function: Callable[[T], None], argument: T, most: int) -> None:
        """Start workers, ``most`` of them, and let idle ones call ``function`` meanwhile: what the next tasks need.

        Nothing is waited for; what it raises is left to the tasks.
        """
        while len(self._workers) < min(self.size, most):
            self._workers.append(_Worker.start())
        for worker in self._workers:
            if not worker.busy and worker.loaded != function.__qualname__:
                worker.loaded = function.__qualname__
                with suppress(BrokenPipeError, ConnectionResetError):  # noticed with its first task
                    worker.link.send((None, (function.__module__, function.__qualname__, argument)))

    def stream(
        self,
        function: Callable[[T], Iterator[R]],
        tasks: Iterable[T],
        *,
        remainder: Callable[[T, int], T | None] | None = None,
    ) -> Generator[TaskResult[T, R] | WorkerCrash[T], None, None]:
        """Call ``function`` on every task in some worker and yield its values as they arrive, in any order.

        Tasks are taken only as workers become free. After a crash ``remainder(task, index)`` returns the task without
        value ``index`` and those before it. An exception of ``function`` ends the stream and is raised here; a stream
        that ends early, by an exception or by its ``close()``, ends the workers.
        """
        source, again = iter(tasks), deque[T]()
        try:
            while True:
                self._hand_out(function, source, again)
                busy = [worker for worker in self._workers if worker.busy]
                if not busy:
                    return
                for worker in self._answering(busy):
                    yield from self._receive(worker, again, remainder)
        except BaseException:
            self.close(now=True)
            raise

    def _hand_out(self, function: Callable[[T], Iterator[R]], source: Iterator[T], again: deque[T]) -> None:
        """Give every free worker a task, starting workers up to the limit."""
        while True:
            free = next((worker for worker in self._workers if not worker.busy), None)
            if free is None and len(self._workers) >= self.size:
                return
            if again:
                task = again.popleft()
            else:
                try:
                    task = next(source)
                except StopIteration:
                    return
            if free is None:
                free = _Worker.start()
                self._workers.append(free)
            free.trim_log()
            free.give(function, task)

    def _answering(self, busy: list[_Worker]) -> list[_Worker]:
        """Wait for workers that have sent a message, died, or exceeded their time limit."""
        seconds = 1.0 if self.timeout is None else min(1.0, self.timeout)
        # poll(2) itself: multiprocessing's wait() builds a selector each time, which costs more than a small message
        poller, links = select.poll(), {worker.link.fileno(): worker for worker in busy}
        for descriptor in links:
            poller.register(descriptor, select.POLLIN)
        ready = {links[descriptor].process.pid for descriptor, _ in poller.poll(1000 * seconds)}
        return [w for w in busy if w.process.pid in ready or self._is_late(w) or w.process.poll() is not None]

    def _is_late(self, worker: _Worker) -> bool:
        """Whether a worker has exceeded its time limit; a starting worker gets at least ``START_TIMEOUT_S``."""
        if self.timeout is None:
            return False
        patience = self.timeout if worker.ready else max(self.timeout, START_TIMEOUT_S)
        return time.monotonic() - worker.since >= patience

    def _receive(
        self, worker: _Worker, again: deque[T], remainder: Callable[[T, int], T | None] | None
    ) -> Iterator[TaskResult[T, R] | WorkerCrash[T]]:
        """Read what ``worker`` has sent, to the end of its task; a dead or late worker is removed."""
        waits = select.poll()
        waits.register(worker.link.fileno(), select.POLLIN)
        silent = True
        # a dead worker's last answers may still be in the pipe: they are read before its death counts
        while worker.busy and ((sent := bool(waits.poll(0))) or silent):
            kind, value = worker.message() if sent else SILENCE
            if kind == "silence":
                yield from self._replace_worker(worker, again, remainder)
                return
            silent = False
            if kind == "ready":
                worker.ready, self._failed_starts = True, 0
                worker.since = time.monotonic()
            elif kind == "value":
                worker.answered += 1
                worker.since = time.monotonic()
                yield TaskResult(worker.task, value)
            elif kind == "end":
                worker.busy, worker.task = False, None
            else:
                raise value

    def _replace_worker(
        self, worker: _Worker, again: deque[T], remainder: Callable[[T, int], T | None] | None
    ) -> Iterator[WorkerCrash[T]]:
        """Remove a worker that died or is late, and yield the crash with the lost value."""
        late = worker.process.poll() is None and self._is_late(worker)
        reason = worker.terminate(0.0 if late else 1.0)
        log = worker.log_tail()
        worker.log.close()
        self._workers.remove(worker)
        # died while importing: its task is not to blame
        if not worker.ready and not late:
            self._failed_starts += 1
            if self._failed_starts >= START_ATTEMPTS:
                raise PipelineError(f"worker processes cannot start ({reason}); end of the last one's log:\n{log}")
            again.append(worker.task)
            return
        if late:
            reason = f"no answer within {self.timeout:g} s; the worker process was ended"
        rest = remainder(worker.task, worker.answered) if remainder is not None else None
        if rest is not None:
            again.append(rest)
        yield WorkerCrash(worker.task, worker.answered, reason, log)
