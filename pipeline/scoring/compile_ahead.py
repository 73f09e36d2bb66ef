"""Compile PESQ (numba) in one worker before scoring begins, so that the others load it from the cache (decision 4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing

from codec_superb.metrics.table import Backends, backends_of
from codec_superb.pipeline.workers.executor import Executor, TaskResult
from codec_superb.pipeline.workers.progress import Progress

ONCE = "compiling PESQ for this processor: once on this machine, about 20 s"
EVERY_TIME = (
    "compiling PESQ, about 20 s for each worker: there is no writable folder for the cache of compiled code; "
    "set NUMBA_CACHE_DIR to one, or choose --pesq-backend reference"
)


def compile_ahead(keys: Iterable[str], backends: Backends, pool: Executor, progress: Progress) -> None:
    """Compile PESQ in one worker if one of the metrics ``keys`` needs it and it is not in the cache."""
    wanted = set(keys)
    if "pesq_c2" not in wanted and backends_of(wanted, backends).get("pesq") != "fast":
        return
    timeout, pool.timeout = pool.timeout, None  # the timeout is per clip; compiling takes about 20 s (decision 4)
    try:
        with closing(pool.stream(_compile, [None])) as events:
            for event in events:
                if isinstance(event, TaskResult):
                    progress.message(event.value)
    finally:
        pool.timeout = timeout


def _compile(_task: None) -> Iterator[str]:
    """Compile inside a worker; yields a message for the user, nothing where the code is in the cache."""
    from codec_superb.metrics.p862 import readiness

    if readiness.is_compiled():
        return
    if not readiness.is_worth_compiling():
        yield EVERY_TIME
        return
    yield ONCE
    readiness.compile_ahead()
