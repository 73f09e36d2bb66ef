"""``codec-superb admin mseb``: published results of MSEB's encoders on the leaderboard, beside those of the program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from codec_superb.cli.console import print_json
from codec_superb.cli.options import JsonOption
from codec_superb.cli.server_database import ACTOR, list_published, remove_published, server_transaction
from codec_superb.cli.server_options import DatabaseOption, ReplaceOption, StorageOption, server_settings

app = typer.Typer(help="Published results of MSEB's encoders.", no_args_is_help=True)


@app.command("import")
def import_(
    paths: Annotated[
        list[Path], typer.Argument(metavar="FILES|DIR…", help="Result files <encoder>/<task>.jsonl, or folders.")
    ],
    source: Annotated[str, typer.Option("--source", help="Where they come from: an address, a state, a date.")],
    replace: ReplaceOption = False,
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the results of encoders on the page of MSEB; an encoder's earlier one of the same source is replaced."""
    from codec_superb.applications.mseb.result_json import read_files, rows_of

    server_settings(database, storage)  # first: many files take long to read, wrong settings should show before
    rows = [row for encoder, result in read_files(paths) for row in rows_of(encoder, result)]
    with server_transaction(database, storage, write=True) as session:
        from codec_superb.server.published.importing import add_encoders

        counts = add_encoders(session, rows, source, actor=ACTOR, replace=replace)
    if as_json:
        print_json({"source": source, "encoders": counts})
        return
    for encoder, count in counts.items():
        typer.echo(f"{encoder}: {count} values")


@app.command("list")
def list_imported(database: DatabaseOption = None, storage: StorageOption = None, as_json: JsonOption = False) -> None:
    """List the imported encoders."""
    list_published("mseb", database, storage, as_json=as_json)


@app.command("remove")
def remove_imported(
    encoder: Annotated[str, typer.Argument(metavar="ENCODER", help="Name of an imported encoder.")],
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take an imported encoder off the page."""
    remove_published("mseb", encoder, database, storage, as_json=as_json)
