"""An executor whose tasks run on a cluster of Ray: the same stream of values, from machines that come and go.

Each actor of Ray keeps one worker process of :mod:`~codec_superb.pipeline.workers.executor`, so that a clip that
crashes or hangs costs what it costs there. This process takes tasks as actors become free, and keeps the journals. The
program that talks to Ray is :mod:`~codec_superb.pipeline.workers.ray_job`.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from importlib.util import find_spec
from itertools import islice
from multiprocessing.connection import Pipe
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from codec_superb.missing_package import not_installed
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.workers.executor import Executor, TaskResult, WorkerCrash
from codec_superb.pipeline.workers.ray_slot import Event, pickled
from codec_superb.pipeline.workers.user_files import user_files

T = TypeVar("T")
R = TypeVar("R")

PATIENCE_S = 600.0
"""Seconds without any machine after which a run ends."""
LOG_SHOWN = 3000
"""Bytes of Ray's log that an error shows."""
NUMBERS = ("num_cpus", "num_gpus", "memory", "patience")
CUSTOM = "resources."
PROGRAM = (
    "import sys; from multiprocessing.connection import Connection; link = Connection(int(sys.argv[1])); "
    "sys.path[:] = link.recv(); from codec_superb.pipeline.workers.ray_job import Terms, main; "
    "main(link, Terms(*link.recv()))"
)
EXPECTED = "ADDRESS and NAME=NUMBER of num_cpus, num_gpus, memory (bytes), resources.NAME and patience (seconds)"


class RayOptions(NamedTuple):
    """What follows ``ray:``."""

    address: str | None
    needs: dict[str, Any]
    """Options of an actor."""
    patience: float


def ray_options(text: str, *, device: str = "auto") -> RayOptions:
    """Read ``ADDRESS,num_cpus=1,num_gpus=0.25,memory=8e9,resources.NAME=1,patience=600``, each of them optional.

    Unless told otherwise an actor has one core and, where ``device`` is ``cuda``, one graphics card.

    Raises PipelineError for anything else.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    addresses = [part for part in parts if "=" not in part]
    needs: dict[str, Any] = {"num_cpus": 1.0, "num_gpus": float(device == "cuda"), "memory": 0.0, "resources": {}}
    patience = PATIENCE_S
    for name, _, value in (part.partition("=") for part in parts if "=" in part):
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        known = name in NUMBERS or (name.startswith(CUSTOM) and name != CUSTOM)
        if not known or not 0 <= number < float("inf"):
            raise PipelineError(f"--executor ray:{text}: expected {EXPECTED}, got {name}={value}")
        if name == "patience":
            patience = number
        elif name in needs:
            needs[name] = number
        else:
            needs["resources"][name.removeprefix(CUSTOM)] = number
    if not any(needs.values()):
        raise PipelineError(f"--executor ray:{text}: expected at least one resource that an actor needs")
    if len(addresses) > 1:
        raise PipelineError(f"--executor ray:{text}: expected one address, got {' and '.join(addresses)}")
    return RayOptions(addresses[0] if addresses else None, needs, patience)


class RayExecutor(Executor):
    """Runs streams of tasks on actors of Ray, which are kept from one stream to the next."""

    def __init__(
        self,
        options: RayOptions,
        workers: int | None = None,
        *,
        timeout: float | None = None,
        tell: Callable[[str], None] = lambda _text: None,
    ) -> None:
        """Use up to ``workers`` actors (default: what the cluster has room for); ``tell`` shows lines to the user.

        Ray is started or joined with the first task. Raises PipelineError where Ray is not installed.
        """
        super().__init__(workers, timeout=timeout)
        if find_spec("ray") is None:
            raise PipelineError(not_installed("--executor ray", "ray", extra="ray"))
        self._options, self._limit, self._tell = options, workers, tell
        self._program: _Program | None = None
        self._free = 0
        """Tasks that may be given now."""
        self._number = 0
        self._files: dict[str, str] = {}
        """SHA-256 of the user's files that tasks may run."""

    def alone(self) -> AbstractContextManager[Executor]:
        """Return this executor: a large model has what an actor has, and a copy in each."""
        return nullcontext(self)

    @property
    def threads(self) -> int:
        """Threads of a large model: the cores of an actor."""
        return max(1, int(self._options.needs["num_cpus"]))

    def load(self, function: Callable[[T], None], argument: T, most: int) -> None:
        """Do nothing: actors start as the cluster has room, and load with their first task."""

    def close(self, *, now: bool = False) -> None:
        """End the program that talks to Ray, and with it all actors."""
        program, self._program, self._free = self._program, None, 0
        if program is not None:
            program.end(0.2 if now else 5.0)

    def stream(
        self,
        function: Callable[[T], Iterator[R]],
        tasks: Iterable[T],
        *,
        remainder: Callable[[T, int], T | None] | None = None,
    ) -> Generator[TaskResult[T, R] | WorkerCrash[T], None, None]:
        """Yield what the executor yields; a task of a lost machine is given to another one, and answers once."""
        source, again, under = iter(tasks), deque[T](), dict[int, T]()
        self._files = user_files()
        try:
            while True:
                # without a place only to learn whether there is anything to do: Ray is not started for no task
                if not again and (self._free or not under):
                    again.extend(islice(source, 1))
                if again and self._free:
                    self._give(function, again.popleft(), under)
                elif again or under:
                    yield from self._message(under, again, remainder)
                else:
                    return
        except BaseException:
            self.close(now=True)
            raise

    def _give(self, function: Callable[[T], Iterator[R]], task: T, under: dict[int, T]) -> None:
        """Send one task."""
        self._number += 1
        self._free -= 1
        under[self._number] = task
        self._running().send((self._number, pickled(function, task, self._files), self.timeout))

    def _message(
        self, under: dict[int, T], again: deque[T], remainder: Callable[[T, int], T | None] | None
    ) -> Iterator[TaskResult[T, R] | WorkerCrash[T]]:
        """Wait for one message, and yield what it says of a task. Raises what the task raised."""
        kind, *parts = self._running().receive()
        if kind == "free":
            self._free += parts[0]
            self.size = max(self.size, len(under) + self._free)
        elif kind == "tell":
            self._tell(parts[0])
        elif kind == "error":
            raise PipelineError(f"--executor ray: {parts[0]}")
        else:
            number, events = parts
            if events and events[-1][0] == "error":  # which may say what is missing "on this machine"
                self._tell(f"what ends the command was said on {events[-1][2]}")
            yield from _outcomes(under.pop(number), events, again, remainder)

    def _running(self) -> _Program:
        """Return the program, started where it is not running."""
        if self._program is None:
            needs = self._options
            terms = (needs.address, needs.needs, self._limit, needs.patience, tuple(sys.path), str(Path.cwd()))
            self._program = _Program(terms)
        return self._program


def _outcomes(
    task: T, events: Iterable[Event], again: deque[T], remainder: Callable[[T, int], T | None] | None
) -> Iterator[TaskResult[T, Any] | WorkerCrash[T]]:
    """Yield values and the death of a worker process. Raises what the task raised."""
    for kind, *parts in events:
        if kind == "value":
            yield TaskResult(task, pickle.loads(parts[0]))  # noqa: S301 - by a worker of this run
        elif kind == "crash":
            rest = remainder(task, parts[0]) if remainder is not None else None
            if rest is not None:
                again.append(rest)
            yield WorkerCrash(task, *parts)
        else:
            raise pickle.loads(parts[0])  # noqa: S301 - as above


class _Program:
    """The process that talks to Ray."""

    def __init__(self, terms: tuple[Any, ...]) -> None:
        self._link, its = Pipe()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", PROGRAM, str(its.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                pass_fds=[its.fileno()],
                env={"RAY_USAGE_STATS_ENABLED": "0"} | os.environ,  # Ray would report its use to its publisher
                # Ctrl-C of a terminal goes to this process alone, which ends the other
                start_new_session=True,
            )
        finally:
            its.close()
        self.send(sys.path)
        self.send(terms)

    def send(self, message: Any) -> None:
        """Send a message; an end of the process is noticed when its answer is read."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self._link.send(message)

    def receive(self) -> tuple[Any, ...]:
        """Wait for a message. Raises PipelineError where the process has ended."""
        try:
            message: tuple[Any, ...] = self._link.recv()
        except (EOFError, OSError) as error:
            size = self._log.seek(0, os.SEEK_END)
            self._log.seek(max(0, size - LOG_SHOWN))
            words = self._log.read().decode(errors="replace").strip()
            raise PipelineError(
                "the connection to the Ray cluster is lost; run the command again when it is back: what is finished is "
                f"kept; end of Ray's log:\n{words}"
            ) from error
        return message

    def end(self, patience: float) -> None:
        """Let it end by itself, then end it with all that it started."""
        self._link.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, 9)
        self._process.wait()
        self._log.close()
