"""``codec-superb admin xares``: results of ``xares run`` on the leaderboard, beside published ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from codec_superb.cli.console import print_json
from codec_superb.cli.options import JsonOption
from codec_superb.cli.server_database import ACTOR, list_published, remove_published, server_transaction
from codec_superb.cli.server_options import DatabaseOption, ReplaceOption, StorageOption, server_settings

app = typer.Typer(help="Results of `xares run`.", no_args_is_help=True)


@app.command("import")
def import_(
    paths: Annotated[
        list[Path], typer.Argument(metavar="FILES|DIR…", help="Files of `xares run --json`, or folders with them.")
    ],
    source: Annotated[str, typer.Option("--source", help="Where they come from: an address, a state, a date.")],
    replace: ReplaceOption = False,
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show them on the page of XARES; of the same encoder, track, decoder, mode and source the earlier is replaced."""
    from codec_superb.pipeline.xares.result_file import read_results

    server_settings(database, storage)  # first: wrong settings should show before files are read
    found = read_results(paths)
    with server_transaction(database, storage, write=True) as session:
        from codec_superb.server.published.importing import add_xares

        counts = add_xares(session, found, source, actor=ACTOR, replace=replace)
    if as_json:
        print_json({"source": source, "results": counts})
        return
    for name, count in counts.items():
        typer.echo(f"{name}: {count} values")


@app.command("list")
def list_imported(database: DatabaseOption = None, storage: StorageOption = None, as_json: JsonOption = False) -> None:
    """List the imported results."""
    list_published("xares", database, storage, as_json=as_json)


@app.command("remove")
def remove_imported(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of an imported result, as `list` shows it.")],
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take an imported result off the page."""
    remove_published("xares", name, database, storage, as_json=as_json)
