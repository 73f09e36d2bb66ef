"""``codec-superb admin codec``: ownership of codec names on the leaderboard."""

from __future__ import annotations

from typing import Annotated

import typer

from codec_superb.cli.console import print_json
from codec_superb.cli.options import JsonOption
from codec_superb.cli.server_database import ACTOR, server_transaction
from codec_superb.cli.server_options import DatabaseOption, StorageOption

app = typer.Typer(help="Codec names and their owners.", no_args_is_help=True)


@app.command("transfer")
def transfer(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Codec of the leaderboard.")],
    account: Annotated[str, typer.Argument(metavar="ACCOUNT", help="Who may submit under the name from now on.")],
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a codec's name to another account; existing results stay."""
    with server_transaction(database, storage, write=True) as session:
        from codec_superb.server.moderation.service import transfer as transfer_name

        before = transfer_name(session, name, account, actor=ACTOR)
    if as_json:
        print_json({"codec": name, "before": before, "after": account})
    else:
        typer.echo(f"{name} belongs to {account} now; before, {before or 'it came anonymously'}")


@app.callback()
def codec() -> None:
    """Codec names and their owners."""
