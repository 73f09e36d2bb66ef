"""``codec-superb check-task``: check a task file; show its prompt for a clip, and score an answer, without a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codec_superb.cli.console import note, print_json
from codec_superb.cli.options import JsonOption
from codec_superb.cli.task_lists import print_tasks, tasks_as_data

if TYPE_CHECKING:
    from codec_superb.applications.interface import Item
    from codec_superb.applications.understanding.dry_run import Trial


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of tasks, or a folder of some.")],
    dataset: Annotated[
        str | None, typer.Option("--dataset", metavar="NAME|DIR", help="Dataset of the clip.", show_default="none")
    ] = None,
    clip: Annotated[
        str | None,
        typer.Option("--clip", metavar="ID", help="Clip whose prompt is shown.", show_default="the dataset's first"),
    ] = None,
    answer: Annotated[
        str | None, typer.Option("--answer", metavar="TEXT", help="An answer to score.", show_default="none")
    ] = None,
    family: Annotated[str, typer.Option("--family", metavar="NAME", help="Family of chats that is asked.")] = "default",
    as_json: JsonOption = False,
) -> None:
    """Check a file of understanding tasks; with a clip show what a chat is asked, with an answer how it is scored."""
    from codec_superb.applications.catalogue import backend_entry
    from codec_superb.applications.plugged import adopt
    from codec_superb.applications.table import PROBES
    from codec_superb.applications.understanding.dry_run import try_task
    from codec_superb.applications.understanding.scoring import definition_of

    if dataset is None and (clip is not None or answer is not None):
        raise typer.BadParameter("expected --dataset NAME|DIR beside --clip and --answer: it has the clip's labels")
    rows = [PROBES[key] for key in adopt((), [file])]
    if not rows:
        raise typer.BadParameter(f"expected a task in {file}, got none: docs/understanding.md shows one")
    for row in rows:
        backend_entry(row.backend)
    tasks = tasks_as_data(rows)
    item = None if dataset is None else _item(dataset, clip)
    tried = {row.key: try_task(definition_of(row), item, family=family, answer=answer) for row in rows if item}
    if as_json:
        print_json({"tasks": tasks, "tried": [_as_data(key, trial) for key, trial in tried.items()]})
        return
    print_tasks(tasks)
    for row in rows if item else ():
        print(f"\n{row.task} of {item.clip if item else ''}, as chats of the family {family} are asked:")
        _print(tried[row.key], answer, definition_of(row).task.measure.name)
    note(f"{file}: {len(rows)} {'task is' if len(rows) == 1 else 'tasks are'} in order")


def _item(dataset: str, clip: str | None) -> Item:
    from codec_superb.applications.clips import item_of
    from codec_superb.data_manifests import open_dataset

    found = open_dataset(dataset)
    ids = list(found.clip_ids())
    if clip is not None and clip not in ids:
        raise typer.BadParameter(f"--clip {clip}: {found.name} has no such clip; its first are {', '.join(ids[:3])}")
    return item_of(found.clip(clip or ids[0]))


def _print(trial: Trial, answer: str | None, measure: str) -> None:
    for message in trial.messages:
        for part in message.parts:
            print(f"  {message.role}: {'[sound]' if part.kind == 'audio' else part.text}")
    if not trial.truth:
        print("  no label, or none of the task's classes: the clip is left out")
        return
    print(f"  right: {' or '.join(trial.truth)}")
    if answer is None:
        return
    print(f"  answer: {answer}")
    for name, text in trial.steps:
        print(f"  after {name}: {text}")
    if not trial.kept:
        print(f"  {measure}: a judge decides, which is not asked here")
        return
    print(f"  {measure}: {trial.verdict or 'numbers'}")
    print(f"  kept: {', '.join(f'{name} {value:g}' for name, value in trial.kept.items())}")


def _as_data(key: str, trial: Trial) -> dict[str, Any]:
    from codec_superb.applications.task_definitions.messages import as_data

    return {
        "key": key,
        "messages": as_data(trial.messages),
        "right": list(trial.truth),
        "options": list(trial.options),
        "steps": [{"name": name, "answer": text} for name, text in trial.steps],
        "verdict": trial.verdict,
        "kept": dict(trial.kept),
    }
