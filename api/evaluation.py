"""``evaluate``, ``probe`` and ``load``: the stages of the pipeline, one after the other."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from codec_superb.api.folder import Folder
from codec_superb.api.given import (
    check_budget,
    check_category,
    check_codec,
    check_device,
    check_kbps,
    check_limit,
    places,
)
from codec_superb.api.live import device_for, generators_kept, identity, modules_of, no_identity, undisturbed
from codec_superb.api.opened import OpenedCodec
from codec_superb.api.pool import workers_for
from codec_superb.api.progress import bars
from codec_superb.api.result import Result
from codec_superb.base_codec.adapting import as_codec
from codec_superb.base_codec.errors import RefusedSetting
from codec_superb.base_codec.interface import Codec
from codec_superb.base_codec.live import registered
from codec_superb.base_codec.options import DEFAULT_OPTIONS, CodecOptions, Dtype
from codec_superb.cli.selection import application_names, conditions_of, prepare_fetched
from codec_superb.metrics.plugged import find_metrics
from codec_superb.metrics.table import Category
from codec_superb.pipeline.comparison.results import combine, load_results
from codec_superb.pipeline.resynthesis.clip import let_go
from codec_superb.pipeline.runs.folder import find_results
from codec_superb.pipeline.workers.devices import Device
from codec_superb.plugins import is_file_name

Names = str | Sequence[str] | None
Place = str | Path
Source = Place | Result


class _Codec(NamedTuple):
    """A codec as the stages take it."""

    name: str
    device: Device
    live: bool
    holds_nothing: bool
    """Whether workers that ran it may stay."""


@generators_kept()
def evaluate(
    codec: object,
    dataset: Place | Sequence[Place] = "mini",
    *,
    name: str | None = None,
    sampling_rate: int | None = None,
    kbps: float | None = None,
    limit: int | None = None,
    metrics: Names = None,
    applications: Names = None,
    backends: Names = None,
    tasks: Place | Sequence[Place] = (),
    judge: str = "",
    budget: float | None = None,
    condition: Names = None,
    category: Category | None = None,
    device: Device = "auto",
    weights: Place | None = None,
    dtype: Dtype = "float32",
    batch: float | None = None,
    workers: int | None = None,
    out: Place | None = None,
    overwrite: bool = False,
    progress: bool = True,
) -> Result:
    """Resynthesise ``dataset`` with ``codec``, score it, and probe it where ``applications`` are named.

    ``codec`` is a name, ``path/to/file.py:NAME``, an opened codec, or an object that runs in this process: a Codec or
    its class, a torch module, a function ``(audio, rate) -> audio``. ``name``, ``sampling_rate`` in Hz and ``kbps``, a
    declared bitrate, say what an object does not. ``limit`` is a number of clips of each dataset, ``batch`` in seconds
    of sound, ``workers`` the processes that score (0: this one). With ``out``, a folder of runs, a call that was
    interrupted goes on where it was; without it the run lives as long as the result. docs/python.md has all of it.

    A failing clip is a row of ``Result.failures``. Raises CodecError, DatasetError, MetricError, ApplicationError or
    PipelineError for what would meet every clip.
    """
    from codec_superb.applications.catalogue import choose
    from codec_superb.applications.plugged import adopt
    from codec_superb.pipeline.probing.choice import check_probes_possible
    from codec_superb.pipeline.resynthesis.stage import resynthesise
    from codec_superb.pipeline.scoring.stage import score

    check_codec(codec)
    check_limit(limit)
    check_kbps(kbps)
    check_category(category)
    check_device(device)
    check_budget(budget)
    datasets = [str(each) for each in _several(dataset)]
    keys, probes, models = _names(metrics), application_names(_names(applications) or ()), _names(backends)
    own = [Path(each) for each in _several(tasks)]
    conditions = conditions_of(_names(condition), "clean")
    find_metrics(keys or ())
    choices = choose(adopt(probes, own), models or ())
    folder = Folder(out)
    with ExitStack() as stack:
        bar = stack.enter_context(bars(shown=progress))
        its = stack.enter_context(_ready(codec, name, sampling_rate, kbps, device))
        stack.callback(let_go)  # what this process itself opened
        prepare_fetched(datasets, bar)
        if choices:
            check_probes_possible(datasets, choices, category=category, limit=limit, judge=judge)
        if its.live and (weights is not None or dtype != DEFAULT_OPTIONS.dtype):
            raise RefusedSetting("weights and dtype are of a named codec; an object has its own")
        # what lives here is coded here, everything else by workers
        options = CodecOptions(None if weights is None else str(weights), dtype, kbps=None if its.live else kbps)
        with workers_for(0 if its.live else workers, keep=its.holds_nothing) as pool:
            outcomes = resynthesise(
                [its.name], datasets, out=folder.path, conditions=conditions, device=its.device, options=options,
                batch=batch, limit=limit, overwrite=overwrite, category=category, progress=bar, executor=pool,
            )  # fmt: skip
        runs = [outcome.path for outcome in outcomes]
        with workers_for(workers, keep=not any(map(is_file_name, keys or ()))) as pool:
            score(runs, metrics=keys, overwrite=overwrite, progress=bar, executor=pool)
    result = Result(combine(map(load_results, runs)), (folder,), evaluate)
    if not choices:
        return result
    return probe(
        result, probes, backends=models, tasks=own, judge=judge, budget=budget, device=device, workers=workers,
        codec_weights=weights, overwrite=overwrite, progress=progress,
    )  # fmt: skip


@generators_kept()
def probe(
    result: Result,
    applications: Names = None,
    *,
    backends: Names = None,
    tasks: Place | Sequence[Place] = (),
    judge: str = "",
    budget: float | None = None,
    device: Device = "auto",
    workers: int | None = None,
    codec_weights: Place | None = None,
    overwrite: bool = False,
    progress: bool = True,
) -> Result:
    """Run applications or probes (``"asr,quality"``) on the runs of a result; returns it with their figures.

    ``backends`` names models in place of the defaults, ``tasks`` files or folders of understanding tasks of one's own;
    without ``applications`` these are what is run. ``judge`` is the configuration of the model that reads answers of
    judged tasks, ``budget`` the money that servers may cost in this call, which then ends and can be resumed;
    ``codec_weights`` are those that the codec was run with, for what it answers itself (``"tokens"``). Raises
    ApplicationError for names, labels and models that are missing, before any work, and PipelineError for a result of
    submission files, which hold no sound.
    """
    from codec_superb.pipeline.probing.stage import probe as probe_runs

    names = application_names(_names(applications) or ())
    with bars(shown=progress) as bar, workers_for(workers, keep=False) as pool:
        runs = result.folders
        probe_runs(
            runs, applications=names, backends=_names(backends) or (), tasks=[Path(each) for each in _several(tasks)],
            judge=judge, budget=check_budget(budget), device=device, overwrite=overwrite, progress=bar, executor=pool,
            codec_weights=None if codec_weights is None else str(codec_weights),
        )  # fmt: skip
    return Result(combine(map(load_results, runs)), result.homes, evaluate)


def load(*sources: Place) -> Result:
    """Load run folders, folders that hold some, and submission files, or what their URLs name, as one result.

    Raises RunFolderError for a run that is not scored, SubmissionError for a file that does not pass its check,
    PipelineError where one codec has a dataset twice.
    """
    given = places(sources)
    files = [path for path in given if path.is_file()]
    folders = [path for path in given if not path.is_file()]
    runs = [run.path for run in find_results(folders)] if folders or not files else []
    return Result(combine(load_results(path) for path in (*files, *runs)), (), evaluate)


@contextmanager
def _ready(
    codec: object, name: str | None, sampling_rate: int | None, kbps: float | None, device: Device
) -> Iterator[_Codec]:
    """Make the codec known by a name until the block ends."""
    if isinstance(codec, OpenedCodec) and codec.name is not None:
        codec = codec.name
    if isinstance(codec, str | Path):
        if name is not None or sampling_rate is not None:
            raise RefusedSetting(f"{codec}: name and sampling_rate are of an object; a named codec has its own")
        from codec_superb.base_codec.registry import card

        classical = not is_file_name(str(codec)) and card(str(codec)).kind in {"classical", "lossless"}
        yield _Codec(str(codec), device, live=False, holds_nothing=classical)
        return
    if isinstance(codec, OpenedCodec):
        codec = codec.codec
    modules = modules_of(codec)
    on = device_for(modules, device)
    made = as_codec(codec, name=name, sampling_rate=sampling_rate, kbps=kbps, device=on)
    with undisturbed(modules):
        if not isinstance(codec, Codec):  # an instance is as its owner made it
            made.load(on)
        telling = no_identity if inspect.isroutine(codec) else identity
        with registered(made, telling(made)) as known:
            yield _Codec(known, on, live=True, holds_nothing=True)


def _several(given: Place | Sequence[Place]) -> list[Place]:
    return [given] if isinstance(given, str | Path) else list(given)


def _names(given: Names) -> list[str] | None:
    return given if given is None else [given] if isinstance(given, str) else list(given)
