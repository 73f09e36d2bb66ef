"""``codec-superb probe``: run application models on references and resyntheses; print ceiling, value and loss."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from codec_superb.cli.console import TerminalProgress, note, print_json
from codec_superb.cli.options import (
    ApplicationOption,
    BackendOption,
    BudgetOption,
    Device,
    ExecutorOption,
    JsonOption,
    JudgeOption,
    OverwriteOption,
    RunsArgument,
    ShardOption,
    TasksOption,
    WorkersOption,
    plain_path,
)
from codec_superb.cli.outcomes import as_data, exit_code, print_outcomes
from codec_superb.cli.selection import application_names


def command(
    runs: RunsArgument,
    application: ApplicationOption = None,
    backend: BackendOption = None,
    tasks: TasksOption = None,
    weights: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of models: one model's files, or a folder a model.")
    ] = None,
    device: Annotated[Device, typer.Option(help="Where large models run; small ones run on the CPU.")] = "auto",
    judge: JudgeOption = "",
    workers: WorkersOption = None,
    executor: ExecutorOption = "processes",
    shard: ShardOption = None,
    overwrite: OverwriteOption = False,
    budget: BudgetOption = None,
    answers: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Answers that a chat gave elsewhere, JSON lines; asks nobody.")
    ] = None,
    questions: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write questions and sounds for a chat elsewhere; asks nobody.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Probe runs: evaluate recognisers, verifiers and quality predictors on the resyntheses and references."""
    from codec_superb.cli.application_metrics import (
        measured_metrics,
        metrics_as_data,
        print_metrics,
        short_notes,
        ultra_notes,
    )
    from codec_superb.pipeline.probing.stage import probe
    from codec_superb.pipeline.runs.shard import Shard
    from codec_superb.pipeline.workers.executors import open_executor

    names = application_names(application)
    if not names and not tasks:
        raise typer.BadParameter("expected --application NAME, such as --application asr,asv,quality")
    if questions is not None:
        _write_questions(runs, questions, names, tasks or (), as_json=as_json)
        return
    backends = [*(backend or ()), *([f"answers:{answers}"] if answers else ())]
    with TerminalProgress() as progress, open_executor(executor, workers, device=device, tell=progress.message) as pool:
        outcomes = probe(
            runs, applications=names, backends=backends, tasks=tasks or (), weights=weights, device=device,
            overwrite=overwrite, budget=budget, judge=judge, shard=Shard.parse(shard) if shard else None,
            progress=progress, executor=pool,
        )  # fmt: skip
    print_outcomes(outcomes)
    if shard:
        note("the models' answers are kept; codec-superb merge scores those of all shards together")
    figures = [] if shard else measured_metrics(outcomes)
    if as_json:
        print_json({"runs": as_data(outcomes), "figures": metrics_as_data(figures)})
    else:
        print_metrics(figures)
        for said in (*short_notes(figures), *(ultra_notes(figures) if "ultra" in names else ())):
            note(said)
    raise typer.Exit(exit_code(outcomes))


def _write_questions(
    runs: Sequence[Path], folder: Path, applications: Sequence[str], tasks: Sequence[Path], *, as_json: bool
) -> None:
    from codec_superb.pipeline.importing.questions import FILE, write_questions

    with TerminalProgress() as progress:
        done = write_questions(runs, folder, applications=applications, tasks=tasks, progress=progress)
    if as_json:
        print_json(done._asdict())
    else:
        print(f"{done.lines} questions about {done.sounds} sounds: {plain_path(folder / FILE)}")
        note("add model and answer to each line, then: codec-superb probe RUNS … --answers FILE")
