"""The program that hands a job to Apache Beam, and what Beam's workers do with each task of it."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import apache_beam
from apache_beam.options.pipeline_options import PipelineOptions

from codec_superb.data_manifests.files import write_atomically
from codec_superb.pipeline.workers.beam import STOP, Job
from codec_superb.pipeline.workers.executor import Executor, TaskResult

Place = tuple[int, int, int]
"""Number of a task, and its offset and size in the file of tasks."""


class RunTask(apache_beam.DoFn):  # type: ignore[misc]
    """Runs tasks in a worker process of its own, one after another, and writes what comes of each into a file."""

    def __init__(self, folder: str, function: bytes, path: tuple[str, ...], timeout: float | None) -> None:
        """Take ``function`` pickled: it is found by its name where this runs."""
        self._folder, self._function, self._path, self._timeout = folder, function, path, timeout
        self._executor: Executor | None = None

    def setup(self) -> None:
        """Prepare the worker process; it starts with the first task."""
        sys.path += [entry for entry in self._path if entry not in sys.path]
        self._executor = Executor(1, timeout=self._timeout)

    def teardown(self) -> None:
        """End the worker process."""
        if self._executor is not None:
            self._executor.close()

    def process(self, place: Place) -> None:
        """Run a task; nothing goes through Beam."""
        folder, (number, offset, size) = Path(self._folder), place
        if (folder / STOP).exists() or not folder.exists():
            return
        with (folder / "tasks").open("rb") as file:
            file.seek(offset)
            task = pickle.loads(file.read(size))  # noqa: S301 - by the process that started the job
        events = list(self._events(task))
        with suppress(FileNotFoundError):  # nobody waits for it any more
            write_atomically(folder / f"{number}.result", pickle.dumps(events), sync=False)

    def _events(self, task: Any) -> Iterator[tuple[Any, ...]]:
        """Yield values, a death of the worker process, or the exception that ends the stream."""
        assert self._executor is not None  # setup comes first
        function = pickle.loads(self._function)  # noqa: S301 - as above
        try:
            for event in self._executor.stream(function, [task]):
                if isinstance(event, TaskResult):
                    yield "value", event.value
                else:
                    yield "crash", event.index, event.reason, event.log
        except Exception as error:  # noqa: BLE001 - the process that started the job decides what it means
            yield "error", error


def main(job: Job) -> None:
    """Run the pipeline of a job to its end."""
    places = [(number, *place) for number, place in enumerate(job.places)]
    work = RunTask(job.folder, pickle.dumps(job.function), job.path, job.timeout)
    with apache_beam.Pipeline(options=PipelineOptions(list(job.arguments))) as pipeline:
        # without the reshuffle a runner may keep all tasks on one worker, in one step with their creation
        pipeline | apache_beam.Create(places) | apache_beam.Reshuffle() | apache_beam.ParDo(work)
