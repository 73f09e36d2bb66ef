"""``codec-superb admin codec``: ownership of names of codecs and families on the leaderboard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from codec_superb.cli.console import print_json
from codec_superb.cli.options import JsonOption
from codec_superb.cli.server_database import ACTOR, server_transaction
from codec_superb.cli.server_options import DatabaseOption, StorageOption

if TYPE_CHECKING:
    from codec_superb.server.moderation.service import Kind

app = typer.Typer(help="Codec names and their owners.", no_args_is_help=True)


@app.command("transfer")
def transfer(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Codec of the leaderboard, or family.")],
    account: Annotated[str, typer.Argument(metavar="ACCOUNT", help="Who may submit under the name from now on.")],
    family: Annotated[bool, typer.Option("--family", help="NAME is that of a family.")] = False,
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give the name of a codec, or of a family, to another account; existing results stay."""
    kind: Kind = "family" if family else "codec"
    with server_transaction(database, storage, write=True) as session:
        from codec_superb.server.moderation.service import transfer as transfer_name

        before = transfer_name(session, kind, name, account, actor=ACTOR)
    if as_json:
        print_json({kind: name, "before": before, "after": account})
    else:
        typer.echo(f"{name} belongs to {account} now; before, {before or 'it came anonymously'}")


@app.callback()
def codec() -> None:
    """Codec names and their owners."""
