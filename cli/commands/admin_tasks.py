"""``codec-superb admin tasks``: published results of models that hear and answer on the leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from codec_superb.cli.console import print_json
from codec_superb.cli.options import JsonOption
from codec_superb.cli.server_database import ACTOR, list_published, remove_published, server_transaction
from codec_superb.cli.server_options import DatabaseOption, ReplaceOption, StorageOption, server_settings

app = typer.Typer(help="Published results of models that hear and answer.", no_args_is_help=True)


@app.command("import")
def import_(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="FILES|DIR…", help="Files <model>/<dataset>/<time>-overall.json, or folders."),
    ],
    source: Annotated[str, typer.Option("--source", help="Where they come from: an address, a state, a date.")],
    replace: ReplaceOption = False,
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show result files of UltraEval-Audio on the page of understanding; earlier ones of the source are replaced."""
    from codec_superb.applications.understanding.conversion.published import read_published

    server_settings(database, storage)  # first: many files take long to read, wrong settings should show before
    rows = read_published(paths, source)
    with server_transaction(database, storage, write=True) as session:
        from codec_superb.server.published.importing import add_models

        counts = add_models(session, rows, source, actor=ACTOR, replace=replace)
    if as_json:
        print_json({"source": source, "models": counts})
        return
    for model, count in counts.items():
        typer.echo(f"{model}: {count} values")


@app.command("list")
def list_imported(database: DatabaseOption = None, storage: StorageOption = None, as_json: JsonOption = False) -> None:
    """List the imported models."""
    list_published("ultraeval", database, storage, as_json=as_json)


@app.command("remove")
def remove_imported(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Name of an imported model.")],
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take an imported model off the page."""
    remove_published("ultraeval", model, database, storage, as_json=as_json)
