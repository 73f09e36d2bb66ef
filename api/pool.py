"""Worker processes of the Python interface: those that hold nothing of the user's stay for the next call."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from codec_superb.api.given import check_workers
from codec_superb.pipeline.workers.executor import Executor
from codec_superb.pipeline.workers.in_process import InProcessExecutor

_KEPT: dict[tuple[Any, ...], Executor] = {}


@contextmanager
def workers_for(count: int | None, *, keep: bool) -> Iterator[Executor]:
    """Give ``count`` worker processes (None: a core each; 0: this process), started when there is work.

    With ``keep`` they stay, idle, for the next call in the same circumstances; an error ends them. Models and the
    user's own files are no work for workers that stay: memory would not be free, and an edited file not be read.
    """
    check_workers(count)
    if count == 0:
        with InProcessExecutor() as here:
            yield here
        return
    key = (count, Path.cwd(), tuple(sys.path), tuple(sorted(os.environ.items())))
    pool = _KEPT.pop(key, None) if keep else None
    pool = Executor(count) if pool is None else pool
    try:
        yield pool
    except BaseException:
        pool.close(now=True)
        raise
    if keep:
        end_workers()
        _KEPT[key] = pool
    else:
        pool.close()


@atexit.register
def end_workers() -> None:
    """End idle workers."""
    while _KEPT:
        _KEPT.popitem()[1].close()
