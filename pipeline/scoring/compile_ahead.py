"""Compile and try PESQ (numba) in one worker before scoring; the others load it from the cache (decision 4).

Every worker scores with the implementations that this finds to work, so that a run does not mix them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from typing import NamedTuple

import numpy as np

from codec_superb.metrics.table import REFERENCE_BACKEND, Backends, backends_of
from codec_superb.pipeline.workers.executor import Executor, WorkerCrash
from codec_superb.pipeline.workers.progress import Progress

ONCE = "compiling PESQ for this processor: once on this machine, about 20 s"
EVERY_TIME = (
    "compiling PESQ, about 20 s for each worker: there is no writable folder for the cache of compiled code; "
    "set NUMBA_CACHE_DIR to one, or choose --pesq-backend reference"
)


class WorkingBackends:
    """The implementations of metrics that one call scores with: those chosen, less what does not work here."""

    def __init__(self, chosen: Backends, pool: Executor, progress: Progress) -> None:
        self.backends = chosen
        self._pool, self._progress = pool, progress
        self._tried = False

    def settle(self, keys: Iterable[str]) -> Backends:
        """Return the implementations to score the metrics ``keys`` with.

        The first time that one of them needs this package's PESQ, one worker compiles it and measures a pair whose
        score is known. Where that fails the package ``pesq`` takes over, which the user is told in one line.
        """
        wanted = set(keys)
        own = [key for key in wanted if key == "pesq_c2" or backends_of([key], self.backends).get("pesq") == "fast"]
        if own and not self._tried:
            self._tried = True
            if fault := self._fault():
                rest = tuple(choice for choice in self.backends if choice[0] != "pesq")
                self.backends = (*rest, ("pesq", REFERENCE_BACKEND))
                self._progress.message(
                    f"this package's PESQ does not work here ({fault}): the package pesq takes over, with the same "
                    "numbers, some ten times slower; pesq_c2, which it does not have, fails where it is asked for"
                )
        return self.backends

    def _fault(self) -> str:
        """Let one worker compile and try PESQ; return what is wrong, '' where nothing is."""
        fault = ""
        # compiling takes some 20 s, longer than a user may allow a clip
        timeout, self._pool.timeout = self._pool.timeout, None  # it is for clips, and this is none
        try:
            with closing(self._pool.stream(_compile, [None])) as events:
                for event in events:
                    if isinstance(event, WorkerCrash):  # LLVM ends the process where it meets what it cannot translate
                        fault = event.reason
                    elif isinstance(event.value, Trial):
                        fault = event.value.fault
                    else:
                        self._progress.message(event.value)
        finally:
            self._pool.timeout = timeout
        return fault


class Trial(NamedTuple):
    """What came of compiling and trying PESQ."""

    fault: str
    """'' where it works."""


def load_metrics(keys: tuple[str, ...]) -> None:
    """Inside a worker: load the compiled loops of metrics by scoring a pair; nothing where they must be compiled."""
    from codec_superb.metrics.p862 import readiness
    from codec_superb.metrics.score import score_pair

    if readiness.is_compiled():
        reference, resynthesis = (sound.astype(np.float32) / np.float32(1 << 15) for sound in readiness.known_pair())
        score_pair(reference, resynthesis, 16_000, keys)


def _compile(_task: None) -> Iterator[str | Trial]:
    """Compile inside a worker; yields what to tell the user, nothing where it is done already, and then the outcome."""
    from codec_superb.metrics.quality import p862_fault

    with suppress(Exception):  # what cannot even be imported is a fault, which the trial describes
        from codec_superb.metrics.p862 import readiness

        if not readiness.is_compiled():
            yield ONCE if readiness.is_worth_compiling() else EVERY_TIME
    yield Trial(p862_fault())
