"""``codec-superb merge``: make whole runs of their shards, or say how far the shards have come."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from codec_superb.cli.console import TerminalProgress, note, print_json, print_table
from codec_superb.cli.options import JsonOption, OverwriteOption, RunsArgument, WorkersOption, plain_path
from codec_superb.cli.outcomes import as_data, exit_code, print_outcomes

INCOMPLETE = 3


def command(
    runs: RunsArgument,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder of the merged runs.", show_default="that of the shards")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Merge nothing: list the shards, and the command that goes on with each.")
    ] = False,
    workers: WorkersOption = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Merge the shards of runs into <out>/<codec>/<dataset>/: the run that one machine would have made."""
    if check:
        raise typer.Exit(_check(runs, out, as_json=as_json))
    from codec_superb.pipeline.merging.stage import merge

    with TerminalProgress() as progress:
        outcomes = merge(runs, out=out, overwrite=overwrite, workers=workers, progress=progress)
    print_outcomes(outcomes)
    if as_json:
        print_json(as_data(outcomes))
    raise typer.Exit(exit_code(outcomes))


def _check(runs: list[Path], out: Path | None, *, as_json: bool) -> int:
    """List all shards; return 3 where one is not complete."""
    from codec_superb.pipeline.merging.sets import find_sets, states

    found = [state for shards in find_sets(runs, out) for state in states(shards)]
    if as_json:
        print_json([state._asdict() | {"run": str(state.run), "shard": str(state.shard)} for state in found])
    else:
        head = ("run", "shard", "clips", "resynthesised", "complete")
        rows = [
            (plain_path(of.run), str(of.shard), str(of.clips), str(of.resynthesised), ", ".join(of.stages) or "nothing")
            for of in found
        ]
        print_table("", head, rows)
        for command in dict.fromkeys(state.todo for state in found if state.todo):
            note(command)
    return INCOMPLETE if any(state.todo for state in found) else 0
