"""``codec-superb slurm``: print a batch script for Slurm whose array of tasks does the shards of a stage."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from codec_superb.cli.console import print_json
from codec_superb.cli.options import JsonOption

STAGES = ("resynth", "score", "probe")


def command(
    context: typer.Context,
    stage: Annotated[
        list[str], typer.Argument(metavar="STAGE …", help="resynth, score or probe, with its options but --shard.")
    ],
    shards: Annotated[int, typer.Option("--shards", min=1, max=1_000_000, help="Tasks of the array, a shard each.")],
    time: Annotated[str, typer.Option("--time", help="Time limit of a task, as Slurm takes it.")] = "04:00:00",
    memory: Annotated[str, typer.Option("--memory", help="Memory of a task, as Slurm takes it.")] = "8G",
    cpus: Annotated[int, typer.Option("--cpus", min=1, help="Cores of a task, and its worker processes.")] = 4,
    gpus: Annotated[int, typer.Option("--gpus", min=0, help="GPUs of a task; the stage gets --device cuda.")] = 0,
    at_once: Annotated[
        int | None, typer.Option("--at-once", min=1, help="Tasks that run at once at most.", show_default="any")
    ] = None,
    sbatch: Annotated[
        list[str] | None,
        typer.Option(
            "--sbatch", metavar="OPTION", help="A further line of sbatch, such as --partition=gpu; repeatable."
        ),
    ] = None,
    logs: Annotated[Path, typer.Option("--logs", help="Folder of the tasks' logs; it is made now.")] = Path("logs"),
    as_json: JsonOption = False,
) -> None:
    """Print a batch script for Slurm, an array of tasks of which each does a shard: save it, submit it by sbatch."""
    from codec_superb.cli.arrays.script import Resources, batch_script, words_of_task
    from codec_superb.pipeline.output_file import make_folder

    name, *words = stage
    if name not in STAGES:
        raise typer.BadParameter(f"expected a stage that has shards, {', '.join(STAGES)}, got {name!r}")
    _refuse_faulty(context, name, words)
    resources = Resources(shards, time, memory, cpus, gpus, at_once, tuple(sbatch or ()), logs)
    script = batch_script(name, words_of_task(name, words, resources), resources)
    make_folder(logs)
    if as_json:
        print_json({"stage": name, "shards": shards, "logs": str(logs), "script": script})
    else:
        print(script, end="")


def _refuse_faulty(context: typer.Context, name: str, words: list[str]) -> None:
    """Refuse what the stage would refuse, before it stands in a queue, and what a restarted task cannot have."""
    from codec_superb.cli.arguments import repeat_option_names

    assert context.parent is not None
    group: Any = context.parent.command
    arguments = repeat_option_names([name, *words], group)[1:]
    found = group.commands[name].make_context(name, list(arguments), parent=context.parent)
    needs = ("codec", "dataset") if name == "resynth" else ("runs",)
    if lost := [each for each in needs if not found.params[each]]:
        raise typer.BadParameter(f"{name} needs {' and '.join(lost)}: what its tasks shall do")
    if found.params["shard"]:
        raise typer.BadParameter("leave --shard out: each task of the array has its own")
    if found.params["overwrite"]:
        raise typer.BadParameter("leave --overwrite out: a task that is restarted would begin anew each time")
    if "-" in words:
        raise typer.BadParameter("a task has no standard input: name a list of files (NAME.txt) in place of -")
    _refuse_unknown(name, found.params)


def _refuse_unknown(stage: str, given: dict[str, Any]) -> None:
    """Refuse names of codecs, metrics and applications that do not exist."""
    if stage == "resynth":
        from codec_superb.cli.selection import codec_names

        codec_names(given["codec"])
    elif stage == "score" and given["metric"]:
        from codec_superb.metrics.plugged import find_metrics

        find_metrics(given["metric"])
    elif stage == "probe":
        from codec_superb.applications.catalogue import choose
        from codec_superb.applications.plugged import adopt
        from codec_superb.cli.selection import application_names

        choose(adopt(application_names(given["application"]), given["tasks"] or ()), given["backend"] or ())
