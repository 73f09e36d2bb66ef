"""What runs on a machine of Ray: an actor that keeps one worker process of the executor, with its loaded models."""

from __future__ import annotations

import pickle
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from codec_superb.pipeline.workers.executor import Executor, TaskResult
from codec_superb.pipeline.workers.user_files import refuse_others

Event = tuple[Any, ...]
"""``value`` and a pickled value; ``crash``, index, reason and log; ``error``, a pickled exception and its machine."""


class Greeting(NamedTuple):
    """Where an actor runs, and with which package."""

    node: str
    host: str
    package: str
    """As :class:`~codec_superb.pipeline.workers.package_facts.PackageFacts` says it, or why there is none."""
    folder: bool
    """Whether the folder of the call is there."""
    packages: dict[str, str] = {}  # noqa: RUF012 - a NamedTuple's default, which nobody changes
    """Versions of other packages that can change a result."""


def pickled(function: Callable[[Any], Iterator[Any]], task: Any, files: Mapping[str, str]) -> bytes:
    """Return a task as it travels, with the hashes of the user's files that it may run.

    What lies between driver and worker process needs none of the task's modules.
    """
    return pickle.dumps((files, pickle.dumps((function, task))))


def run_pickled(payload: bytes) -> Iterator[bytes]:
    """Yield the values of a task, pickled; runs in the worker process. PipelineError for another file than there."""
    files, work = pickle.loads(payload)  # noqa: S301 - by the process that called
    refuse_others(files)  # before a file is imported that is another one here
    function, task = pickle.loads(work)  # noqa: S301 - as above
    for value in function(task):
        yield pickle.dumps(value)


class Slot:
    """One worker process, and what comes of tasks in it."""

    def __init__(self) -> None:
        self._executor = Executor(1)

    def run(self, payload: bytes, timeout: float | None) -> tuple[float, list[Event]]:
        """Run a task to its end, or to the death of its worker process; return the seconds and what came of it."""
        started = time.monotonic()
        self._executor.timeout = timeout
        events = list(self._events(payload))
        return time.monotonic() - started, events

    def _events(self, payload: bytes) -> Iterator[Event]:
        try:
            for event in self._executor.stream(run_pickled, [payload]):
                if isinstance(event, TaskResult):
                    yield "value", event.value
                else:
                    yield "crash", event.index, event.reason, event.log
        except Exception as error:  # noqa: BLE001 - the process that called decides what it means
            yield "error", pickle.dumps(error), socket.gethostname()


def actor_class() -> type:
    """Return the class that Ray makes actors of.

    It is made here because Ray sends such a class as code and a module's class by name: a machine without this package
    can then say so. It therefore imports what it needs where it needs it.
    """

    class CodecSuperbWorker:
        """An actor; Ray runs its methods one after another."""

        def __init__(self) -> None:
            self._slot: Any = None

        def greet(self, python: str, path: tuple[str, ...], folder: str) -> tuple[Any, ...]:
            """Take the import path of the call where it exists here, go to its folder, and say what is here."""
            import os
            import platform
            import socket
            import sys

            import ray

            here = platform.python_version()
            node, host = ray.get_runtime_context().get_node_id(), socket.gethostname()
            if here != python:  # another interpreter cannot read these packages
                return node, host, f"Python {here}", True
            # behind what is installed here
            sys.path += [entry for entry in path if entry not in sys.path and os.path.exists(entry)]  # noqa: PTH110
            if found := os.path.isdir(folder):  # noqa: PTH112
                os.chdir(folder)
            try:
                from codec_superb.pipeline.workers.package_facts import package_facts
                from codec_superb.pipeline.workers.ray_slot import Slot
            except ImportError as error:
                return node, host, f"no codec-superb that can be imported ({error}) on Python {here}", found
            self._slot = Slot()
            facts = package_facts()
            return node, host, str(facts), found, dict(facts.packages)

        def run(self, payload: bytes, timeout: float | None) -> Any:
            """Run a task."""
            return self._slot.run(payload, timeout)

    return CodecSuperbWorker
