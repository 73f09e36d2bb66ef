"""Open the executor that ``--executor`` names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.workers.executor import Executor

PROCESSES = "processes"
EXPECTED = "processes, ray[:ADDRESS][,NAME=NUMBER…] or beam[:NAME=VALUE,…]"


def open_executor(
    name: str, workers: int | None, *, device: str = "auto", tell: Callable[[str], None] = lambda _text: None
) -> Executor:
    """Open the executor of ``processes``, of ``ray[:OPTIONS]``, or of ``beam[:OPTIONS]``.

    Options of Ray are those of :func:`codec_superb.pipeline.workers.ray.ray_options`, those of Beam are its own and
    ``shared=DIR``. ``device`` is what the stages are given, and ``tell`` shows what the user should know.

    Raises PipelineError for another name or option, and where Ray, Beam or the shared folder is missing.
    """
    kind, _, options = name.partition(":")
    if name == PROCESSES:
        return Executor(workers)
    if kind == "ray":
        from codec_superb.pipeline.workers.ray import RayExecutor, ray_options

        return RayExecutor(ray_options(options, device=device), workers, tell=tell)
    if kind == "beam":
        return _beam(name, options, workers)
    raise PipelineError(f"expected --executor {EXPECTED}, got {name!r}")


def _beam(name: str, options: str, workers: int | None) -> Executor:
    from codec_superb.pipeline.workers.beam import BeamExecutor

    given = [option for option in options.split(",") if option]
    shared = next((Path(option.partition("=")[2]) for option in given if option.startswith("shared=")), None)
    if shared is not None and not shared.is_dir():
        raise PipelineError(f"--executor {name}: expected a folder that exists as shared, got {shared}")
    return BeamExecutor([option for option in given if not option.startswith("shared=")], workers, shared=shared)
