"""Open the executor that ``--runner`` names."""

from __future__ import annotations

from pathlib import Path

from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.workers.executor import Executor

PROCESSES = "processes"


def open_executor(runner: str, workers: int | None) -> Executor:
    """Open the executor of ``processes``, or of ``beam[:NAME=VALUE,…]``, whose options are Beam's and ``shared=DIR``.

    Raises PipelineError for another one, where Beam is not installed, and for a shared folder that is missing.
    """
    kind, _, options = runner.partition(":")
    if runner == PROCESSES:
        return Executor(workers)
    if kind != "beam":
        raise PipelineError(f"expected --runner processes or beam[:NAME=VALUE,…], got {runner!r}")
    from codec_superb.pipeline.workers.beam import BeamExecutor

    given = [option for option in options.split(",") if option]
    shared = next((Path(option.partition("=")[2]) for option in given if option.startswith("shared=")), None)
    if shared is not None and not shared.is_dir():
        raise PipelineError(f"--runner {runner}: expected a folder that exists as shared, got {shared}")
    return BeamExecutor([option for option in given if not option.startswith("shared=")], workers, shared=shared)
