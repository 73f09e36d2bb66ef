"""Compile what the workers are going to need, once for all of them, and tell the user why that takes its time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing

from codec_superb.metrics.table import Backends, backends_of
from codec_superb.pipeline.workers.executor import Executor, TaskResult
from codec_superb.pipeline.workers.progress import Progress

ONCE = "compiling PESQ for this processor: once on this machine, about 20 s"
EVERY_TIME = (
    "compiling PESQ, about 20 s for each worker: there is no folder where compiled code can be kept; "
    "set NUMBA_CACHE_DIR to one, or choose --pesq-backend reference"
)


def compile_ahead(keys: Iterable[str], backends: Backends, pool: Executor, progress: Progress) -> None:
    """Let one worker compile PESQ if one of the metrics ``keys`` needs it and it has not been compiled yet."""
    wanted = set(keys)
    if "pesq_c2" not in wanted and backends_of(wanted, backends).get("pesq") != "fast":
        return
    timeout, pool.timeout = pool.timeout, None  # it is for clips, and this is none
    try:
        with closing(pool.stream(_compile, [None])) as events:
            for event in events:
                if isinstance(event, TaskResult):
                    progress.message(event.value)
    finally:
        pool.timeout = timeout


def _compile(_task: None) -> Iterator[str]:
    """Compile inside a worker; yields what to tell the user, nothing where it is done already."""
    from codec_superb.metrics.p862 import readiness

    if readiness.is_compiled():
        return
    if not readiness.is_worth_compiling():
        yield EVERY_TIME
        return
    yield ONCE
    readiness.compile_ahead()
